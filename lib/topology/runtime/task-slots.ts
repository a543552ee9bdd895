// The components of a running topology, their executors, and a slot for each task. A slot outlives the processes that fill
// it one after the other. Each of these processes is an incarnation of the task.

import type { ConsumerView, Pressure, Tags } from "../../dispatch/member.js";
import { invariant } from "../../process/invariant.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";
import { type Outflow, outflowsOf, targetsOf } from "../definition/downstream.js";
import { concurrencyOf } from "../definition/settling.js";
import type { Tuple } from "../definition/tuple.js";
import { FormerTrees } from "../tracking/former-trees.js";
import type { Losses } from "../tracking/losses.js";
import type { PendingTuple } from "../tracking/pending-tuple.js";
import type { Retries } from "../tracking/retries.js";
import type { Homes } from "./homes.js";
import { TaskMeter } from "./metrics.js";
import type { RoomWait } from "./room.js";
import type { RunningTopology } from "./running-topology.js";
import type { WindowResult } from "./window-results.js";

/** One process that is, or was, a task, with the tuples that it has taken and not settled. */
export class Incarnation {
  readonly slot: TaskSlot;
  readonly process: Process;
  /** Of a bolt of mode `manual`: the tuples that it holds. */
  readonly held: Set<Tuple> = new Set();
  /** Of a bolt: the tuple in work. */
  current: Tuple | undefined = undefined;
  /** Of a bolt with `concurrency`: the tuples in work. */
  readonly inWork: Set<Tuple> = new Set();
  /** Of a bolt that collects tuples: those that its function works on. */
  given: readonly Tuple[] | undefined = undefined;
  /** Of a bolt with windows: the window that its function works on. */
  result: WindowResult | undefined = undefined;
  /** Of a bolt: `flush` has begun and not ended. */
  flushing = false;
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

  /** Of a bolt: the number of tuples in work. */
  get busy(): number {
    return this.inWork.size + (this.current === undefined ? 0 : 1);
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
  readonly meter: TaskMeter;
  readonly weight = 1;
  readonly tags: Tags;
  incarnation: Incarnation | undefined = undefined;
  /** The task is being taken out: it finishes its tuples and gets no more. */
  retired = false;
  /** Of an acker: the machine with its trees. */
  trees: { tracks(hi: number, lo: number): boolean } | undefined = undefined;
  /** The task was taken out, and its process is about to end for good. */
  leaving = false;
  /** Tuples in the mailbox of the task. */
  queued = 0;
  /** Tuples that were ever sent to the task. */
  delivered = 0;
  /** How many processes began to start in the slot. */
  starts = 0;
  /** Of a spout: `done` was called. */
  done = false;
  /** A tick is in the mailbox of the task. */
  ticking = false;
  /** A tuple came while the task did not run. Spouts whose tuples need this task pause until it runs. */
  private missed = false;
  /** The receive buffer was full, and has not been half empty since. */
  private congested = false;
  /** Of a spout: the reliable tuples that are not settled. They outlive its process. */
  readonly pendingTuples: Set<PendingTuple> = new Set();
  private readonly receiveBuffer: number;
  /** Of a spout: the trees of its last process, and former trees. */
  retries: Retries | undefined = undefined;
  readonly formerTrees: FormerTrees = new FormerTrees();
  /** Of a bolt with windows: tuples that this task has lost and will get again. */
  losses: Losses | undefined = undefined;

  constructor(task: number, index: number, executor: ExecutorRun, node: string, now: number) {
    this.meter = executor.component.meterOf(index, now);
    this.task = task;
    this.index = index;
    this.executor = executor;
    this.id = `${executor.component.name}-${index}`;
    this.receiveBuffer = executor.component.plan.config.receiveBuffer;
    this.tags = { task, index, executor: executor.index, node };
  }

  get component(): ComponentRun {
    return this.executor.component;
  }

  /** The process of the task; undefined while it does not run. */
  get process(): Process | undefined {
    const process = this.incarnation?.process;
    return process?.alive ? process : undefined;
  }

  get pid(): Pid {
    return this.incarnation?.process.pid ?? this.executor.component.nobody;
  }

  /** Tuples queued and in work. */
  get inFlight(): number {
    return this.incarnation === undefined ? this.queued : this.queued + this.incarnation.busy;
  }

  /** Tuples that may wait before spouts pause. Tuples that are in flight by then still come: the limit is soft. */
  get maxInFlight(): number {
    return this.receiveBuffer;
  }

  get bufferDepth(): number {
    return this.queued;
  }

  get maxBuffer(): number {
    return Number.POSITIVE_INFINITY;
  }

  get pressure(): Pressure {
    if (this.incarnation?.process.alive !== true) return "reject";
    return this.congested ? "defer" : "accept";
  }

  /** A tuple goes into the mailbox. */
  arrives(): void {
    this.delivered++;
    if (++this.queued > this.receiveBuffer && !this.congested) {
      this.congested = true;
      this.component.fill(1);
    }
  }

  /** A tuple has left the mailbox. */
  leaves(): void {
    invariant(this.queued > 0, "a tuple that leaves a mailbox was in it");
    if (--this.queued <= this.receiveBuffer >> 1 && this.congested) {
      this.congested = false;
      this.component.fill(-1);
    }
  }

  /** A tuple has come while the task does not run. */
  miss(): void {
    if (this.missed) return;
    this.missed = true;
    this.component.miss(1);
  }

  /** The task runs again, or was taken out. */
  back(): void {
    if (!this.missed) return;
    this.missed = false;
    this.component.miss(-1);
  }

  /** Of a bolt with windows: the earliest time of a lost tuple that has not come again; Infinity when there is none. */
  outstanding(now: number): number {
    return this.losses === undefined ? Number.POSITIVE_INFINITY : this.losses.earliest(this.task, now);
  }

  /** Of a spout: reliable tuples that are not settled. Of a bolt: tuples queued, in work and held. */
  get pending(): number {
    if (this.component.plan.kind === "spout") return this.pendingTuples.size;
    const { incarnation } = this;
    return this.queued + (incarnation === undefined ? 0 : incarnation.held.size + incarnation.busy);
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

  place(slot: TaskSlot): void {
    this.slots = [...this.slots, slot];
  }

  displace(slot: TaskSlot): void {
    this.slots = this.slots.filter((one) => one !== slot);
  }
}

/** A spout, a bolt or the ackers of a running topology. */
export class ComponentRun {
  readonly plan: ComponentPlan;
  /** Stands for the pid of a task that has not started yet. */
  readonly nobody: Pid;
  executors: ExecutorRun[] = [];
  /** The slots of the tasks that get tuples. Every change makes a new array. */
  slots: readonly TaskSlot[] = [];
  /** The slots of tasks that are being taken out. */
  retired: readonly TaskSlot[] = [];
  /** The meters by the index of the task. Those of tasks that were taken out remain. */
  readonly meters: TaskMeter[] = [];
  /** For the user's functions. It outlives the tasks. */
  readonly shared: Map<unknown, unknown> = new Map();
  /** Of a spout: the bolts that its tuples reach, directly or through others. */
  outflows: readonly { readonly to: ComponentRun; readonly anyTask: boolean }[] = [];
  /** The spouts whose tuples may reach this component. */
  upstream: readonly ComponentRun[] = [];
  /** Of a bolt: the bolts that it waits for when they have no room. */
  targets: readonly { readonly to: ComponentRun; readonly anyTask: boolean }[] = [];
  /** The bolts that wait for this one when it has no room. */
  feeders: readonly ComponentRun[] = [];
  /** Full tasks of all targets. */
  pressed = 0;
  /** Tasks of this bolt that wait for room. */
  readonly waiters: Set<RoomWait> = new Set();
  /** The topology ends: tasks do not wait for room any more. */
  private released = false;
  /** The numbers of tasks that are full, and of tasks that were missed. */
  private full = 0;
  private missed = 0;
  /** Of a spout: it does not log a congestion before this time. */
  quietUntil = 0;
  /** Of a bolt with windows: the homes of its tuples. */
  homes: Homes | undefined = undefined;
  private readonly run: RunningTopology;

  constructor(plan: ComponentPlan, run: RunningTopology) {
    this.plan = plan;
    this.nobody = run.kernel.nobody(plan.name);
    this.run = run;
  }

  get name(): string {
    return this.plan.name;
  }

  /** The most tuples that one task works on at once. */
  get concurrency(): number {
    return concurrencyOf(this.plan);
  }

  meterOf(index: number, now: number): TaskMeter {
    this.meters[index] ??= new TaskMeter(now);
    return this.meters[index];
  }

  /** Whether a tuple of this spout may reach a bolt in which no task that can take it has room. */
  get isBlocked(): boolean {
    for (const { to, anyTask } of this.outflows)
      if (to.full + to.missed > 0 && !(anyTask && to.hasRoom)) return true;
    return false;
  }

  /** Whether a bolt that this one emits to has no room. */
  get isHeldUp(): boolean {
    if (this.pressed === 0 || this.released) return false;
    for (const { to, anyTask } of this.targets) if (to.full > 0 && !(anyTask && to.hasRoom)) return true;
    return false;
  }

  private get hasRoom(): boolean {
    for (const slot of this.slots) {
      this.run.hooks.slotRead(slot);
      if (slot.pressure === "accept") return true;
    }
    return false;
  }

  /** A task is full, or has room again: bolts and spouts upstream may have to wait, or can go on. */
  fill(by: 1 | -1): void {
    this.full += by;
    invariant(this.full >= 0, "a task has room again only after it was full");
    for (const feeder of this.feeders) {
      feeder.touched();
      feeder.pressed += by;
    }
    this.changed(by);
  }

  /** A tuple came for a task that did not run, or the task runs again. */
  miss(by: 1 | -1): void {
    this.missed += by;
    invariant(this.missed >= 0, "a task is back only after it was missed");
    this.changed(by);
  }

  private changed(by: 1 | -1): void {
    for (const spout of this.upstream) spout.touched();
    if (by < 0) this.eased();
  }

  /** Reports to a simulator that this component may have to wait, or may go on. */
  private touched(): void {
    const { kernel, name } = this.run;
    kernel.shared?.of(`t:${name}/${this.name}`, "write");
  }

  /** A task runs that did not run before. It may have room when others have none. */
  joined(): void {
    if (this.full + this.missed > 0) this.eased();
  }

  /** There may be room where there was none. */
  private eased(): void {
    for (const spout of this.upstream) if (!spout.isBlocked) this.run.registry.order(spout, "go");
    for (const feeder of this.feeders) feeder.goOn();
  }

  private goOn(): void {
    if (this.waiters.size === 0 || this.isHeldUp) return;
    for (const waiter of [...this.waiters]) waiter.open();
  }

  /** The topology ends: no task waits for room any more. */
  release(): void {
    this.released = true;
    this.goOn();
  }
}

/** Tells each component which others its tuples reach, and so for whom it pauses or waits. */
export function connect(components: readonly ComponentRun[], blueprint: Blueprint): void {
  const known = ({ to, anyTask }: Outflow): { readonly to: ComponentRun; readonly anyTask: boolean } => ({
    to: components.find(({ name }) => name === to) as ComponentRun,
    anyTask,
  });
  for (const one of components)
    if (one.plan.kind === "spout") {
      one.outflows = outflowsOf(one.name, blueprint).map(known);
      for (const { to } of one.outflows) to.upstream = [...to.upstream, one];
    } else {
      one.targets = targetsOf(one.name, blueprint).map(known);
      for (const { to } of one.targets) to.feeders = [...to.feeders, one];
    }
}
