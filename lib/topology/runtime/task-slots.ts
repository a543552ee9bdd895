// The components of a running topology, their executors, and a slot for each task. A slot outlives the processes that fill
// it one after the other. Each of these processes is an incarnation of the task.

import type { ConsumerView, Pressure, Tags } from "../../dispatch/member.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { ComponentPlan } from "../definition/blueprint.js";
import { concurrencyOf } from "../definition/settling.js";
import type { Losses } from "../tracking/losses.js";
import { Backpressure } from "./backpressure.js";
import { BoltTuples } from "./bolt-tuples.js";
import type { Order } from "./messages.js";
import { TaskMeter } from "./metrics.js";
import { ReceiveBuffer } from "./receive-buffer.js";
import type { SimulatorHooks } from "./simulator-hooks.js";
import { SpoutTuples } from "./spout-tuples.js";

/** One process that is, or was, a task. */
export class Incarnation {
  readonly slot: TaskSlot;
  readonly process: Process;
  /** Of a bolt: the tuples that it has taken and not settled. */
  readonly tuples: BoltTuples = new BoltTuples();
  /** Of a spout: an asynchronous `next` runs. */
  asking = false;
  /** Of a spout: tuples that wait for a retry. */
  retrying = 0;
  /** Of a spout: it was activated, and its `deactivate` has not ended. */
  active = false;

  constructor(slot: TaskSlot, process: Process) {
    this.slot = slot;
    this.process = process;
  }

  get alive(): boolean {
    return this.process.alive;
  }
}

/** A task's place in its component. To groupings it is a consumer. */
export class TaskSlot implements ConsumerView {
  readonly id: string;
  readonly task: number;
  /** The number of the task within its component, from 0. */
  readonly index: number;
  readonly executor: ExecutorRun;
  readonly component: ComponentRun;
  readonly meter: TaskMeter;
  readonly weight = 1;
  readonly tags: Tags;
  readonly buffer: ReceiveBuffer;
  readonly maxBuffer: number = Number.POSITIVE_INFINITY;
  incarnation: Incarnation | undefined = undefined;
  /** The task is being taken out: it finishes its tuples and gets no more. */
  retired = false;
  /** The task was taken out, and its process is about to end for good. */
  leaving = false;
  /** How many processes began to start in the slot. */
  starts = 0;
  /** A tick is in the mailbox of the task. */
  ticking = false;
  /** Of a spout: its reliable tuples. */
  readonly spout: SpoutTuples;
  /** Of a bolt with windows: tuples that this task has lost and will get again. */
  losses: Losses | undefined = undefined;
  /** Of an acker: the machine with its trees. */
  trees: { tracks(hi: number, lo: number): boolean } | undefined = undefined;
  private readonly hooks: SimulatorHooks;

  constructor(task: number, index: number, executor: ExecutorRun, kernel: Kernel, hooks: SimulatorHooks) {
    const { component } = executor;
    this.component = component;
    this.meter = component.meterOf(index, kernel.env.now());
    this.task = task;
    this.index = index;
    this.executor = executor;
    this.hooks = hooks;
    this.id = `${component.name}-${index}`;
    this.buffer = new ReceiveBuffer(this, hooks);
    this.spout = new SpoutTuples(this.id, hooks);
    this.tags = { task, index, executor: executor.index, node: kernel.node.name };
  }

  /** The process of the task; undefined while it does not run. */
  get process(): Process | undefined {
    const process = this.incarnation?.process;
    return process?.alive ? process : undefined;
  }

  /** The same, for a decision that depends on it. */
  reach(): Process | undefined {
    this.hooks.slotRead(this);
    return this.process;
  }

  get pid(): Pid {
    return this.incarnation?.process.pid ?? this.component.nobody;
  }

  /** Tuples queued and in work. */
  get inFlight(): number {
    const { queued } = this.buffer;
    return this.incarnation === undefined ? queued : queued + this.incarnation.tuples.busy;
  }

  get maxInFlight(): number {
    return this.buffer.capacity;
  }

  get bufferDepth(): number {
    return this.buffer.queued;
  }

  get delivered(): number {
    return this.buffer.delivered;
  }

  get pressure(): Pressure {
    if (this.incarnation?.process.alive !== true) return "reject";
    return this.buffer.isFull ? "defer" : "accept";
  }

  /** Of an acker: whether the spout of this tree waits for its end. */
  tracks(hi: number, lo: number): boolean {
    this.hooks.ackedTrees(this, "read");
    return this.reach() !== undefined && this.trees?.tracks(hi, lo) === true;
  }

  /** Of a bolt with windows: the earliest time of a lost tuple that has not come again; Infinity when there is none. */
  outstanding(now: number): number {
    return this.losses === undefined ? Number.POSITIVE_INFINITY : this.losses.earliest(this.task, now);
  }

  /** Of a spout: reliable tuples that are not settled. Of a bolt: tuples queued, in work and held. */
  get pending(): number {
    if (this.component.plan.kind === "spout") return this.spout.pending.size;
    return this.inFlight + (this.incarnation?.tuples.held.size ?? 0);
  }
}

/** Tasks of a component under one supervisor. */
export class ExecutorRun {
  readonly component: ComponentRun;
  readonly index: number;
  slots: readonly TaskSlot[] = [];
  /** The supervisor, when it runs. */
  pid: Pid | undefined = undefined;

  constructor(component: ComponentRun, index: number) {
    this.component = component;
    this.index = index;
  }
}

/** A spout, a bolt or the ackers of a running topology. */
export class ComponentRun {
  readonly name: string;
  readonly plan: ComponentPlan;
  /** Stands for the pid of a task that has not started yet. */
  readonly nobody: Pid;
  readonly backpressure: Backpressure;
  executors: ExecutorRun[] = [];
  /** The slots of the tasks that get tuples. Every change makes a new array. */
  slots: readonly TaskSlot[] = [];
  /** The slots of tasks that are being taken out. */
  retired: readonly TaskSlot[] = [];
  /** The meters by the index of the task. Those of tasks that were taken out remain. */
  readonly meters: TaskMeter[] = [];
  /** For the user's functions. It outlives the tasks. */
  readonly shared: Map<unknown, unknown> = new Map();
  /** Of a spout: it does not log a congestion before this time. */
  quietUntil = 0;
  private readonly hooks: SimulatorHooks;

  constructor(plan: ComponentPlan, kernel: Kernel, hooks: SimulatorHooks) {
    this.name = plan.name;
    this.plan = plan;
    this.nobody = kernel.nobody(plan.name);
    this.backpressure = new Backpressure(this, hooks);
    this.hooks = hooks;
  }

  /** The slots of all tasks, including those that are being taken out. */
  get allSlots(): readonly TaskSlot[] {
    return this.retired.length === 0 ? this.slots : [...this.slots, ...this.retired];
  }

  /** Tells all tasks that run. */
  order(order: Order): void {
    for (const { process } of this.allSlots) process?.deliver(order);
  }

  /** The most tuples that one task works on at once. */
  get concurrency(): number {
    return concurrencyOf(this.plan);
  }

  /** The tasks that a grouping chooses from, by whether they run and by their loads. */
  candidates(): readonly TaskSlot[] {
    this.hooks.chosenFrom(this.slots);
    return this.slots;
  }

  meterOf(index: number, now: number): TaskMeter {
    this.meters[index] ??= new TaskMeter(now);
    return this.meters[index];
  }
}
