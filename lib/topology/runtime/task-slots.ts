// The places of a running topology: components, executors, and a slot for each task. A slot outlives the processes that
// fill it one after the other; a life is one of these processes.

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
import { TaskMeter } from "./metrics.js";
import type { RoomWait } from "./room.js";
import type { RunningTopology } from "./running-topology.js";

/** One process that is, or was, a task: what it has taken and not settled belongs to it. */
export class Incarnation {
  readonly slot: TaskSlot;
  readonly process: Process;
  /** Tuples it has taken, of a bolt that settles by itself. */
  readonly held: Set<Tuple> = new Set();
  /** The tuple that a bolt is at work on. */
  current: Tuple | undefined = undefined;
  /** The tuples that a bolt is at work on, when that may be several. */
  readonly inWork: Set<Tuple> = new Set();
  /** It has been told to settle what it holds back, and has not done so yet. */
  flushing = false;
  /** A spout's `next` is under way. */
  asking = false;
  /** Tuples of a spout that wait to be tried again. */
  retrying = 0;
  /** A spout was activated, and has not come to the end of its `deactivate`. */
  active = false;

  constructor(slot: TaskSlot, process: Process) {
    this.slot = slot;
    this.process = process;
  }

  /** How many tuples a bolt is at work on. */
  get busy(): number {
    return this.inWork.size + (this.current === undefined ? 0 : 1);
  }

  get alive(): boolean {
    return this.process.alive;
  }
}

/** A task's place in its component, as groupings see it: a consumer. */
export class TaskSlot implements ConsumerView {
  readonly id: string;
  readonly task: number;
  /** Which of its component's tasks it is, from 0. */
  readonly index: number;
  readonly executor: ExecutorRun;
  readonly meter: TaskMeter;
  readonly weight = 1;
  readonly tags: Tags;
  incarnation: Incarnation | undefined = undefined;
  /** It is being taken out: it finishes what it has, and gets nothing more. */
  retired = false;
  /** Of an acker: what knows of its trees. */
  trees: { tracks(hi: number, lo: number): boolean } | undefined = undefined;
  /** It was taken out, and is told to end for good. */
  leaving = false;
  /** Tuples in its mailbox. */
  queued = 0;
  /** Tuples it was sent. */
  delivered = 0;
  /** Processes that were to fill it. */
  starts = 0;
  /** A spout has said that there is no more to come. */
  done = false;
  /** A tick is in its mailbox already. */
  ticking = false;
  /** A tuple came while it did not run: spouts that need it pause until it does. */
  private missed = false;
  /** Its receive buffer is full, and has not been half empty since. */
  private congested = false;
  /** Reliable tuples of a spout that are not settled: they outlive its process. */
  readonly pendingTuples: Set<PendingTuple> = new Set();
  private readonly receiveBuffer: number;
  /** Of a spout: the trees that its last process had under way, and those before. */
  retries: Retries | undefined = undefined;
  readonly formerTrees: FormerTrees = new FormerTrees();
  /** Of a bolt with windows: what was lost here and will come again. */
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

  /** The running process, if it runs. */
  get process(): Process | undefined {
    const process = this.incarnation?.process;
    return process?.alive ? process : undefined;
  }

  get pid(): Pid {
    return this.incarnation?.process.pid ?? this.executor.component.nobody;
  }

  /** In front of it and in work. */
  get inFlight(): number {
    return this.incarnation === undefined ? this.queued : this.queued + this.incarnation.busy;
  }

  /** Tuples that may wait before spouts pause. What is under way then still comes: the bound is soft. */
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

  /** A tuple goes into its mailbox. */
  arrives(): void {
    this.delivered++;
    if (++this.queued > this.receiveBuffer && !this.congested) {
      this.congested = true;
      this.component.fill(1);
    }
  }

  /** A tuple is out of its mailbox. */
  leaves(): void {
    invariant(this.queued > 0, "a tuple that leaves a mailbox was in it");
    if (--this.queued <= this.receiveBuffer >> 1 && this.congested) {
      this.congested = false;
      this.component.fill(-1);
    }
  }

  /** A tuple has come, and it does not run. */
  miss(): void {
    if (this.missed) return;
    this.missed = true;
    this.component.miss(1);
  }

  /** It runs again, or is gone for good. */
  back(): void {
    if (!this.missed) return;
    this.missed = false;
    this.component.miss(-1);
  }

  /** Trees of a spout, or tuples in front of a bolt and within it, that are under way. */
  get pending(): number {
    if (this.component.plan.kind === "spout") return this.pendingTuples.size;
    const { incarnation } = this;
    return this.queued + (incarnation === undefined ? 0 : incarnation.held.size + incarnation.busy);
  }
}

/** Some of a component's tasks, under one supervisor. */
export class ExecutorRun {
  readonly component: ComponentRun;
  readonly index: number;
  slots: readonly TaskSlot[] = [];
  /** Its supervisor, when that runs. */
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

/** A spout or bolt, or the ackers, while the topology runs. */
export class ComponentRun {
  readonly plan: ComponentPlan;
  /** Stands for a task that has not started yet. */
  readonly nobody: Pid;
  executors: ExecutorRun[] = [];
  /** Those that take tuples: a new array at every change. */
  slots: readonly TaskSlot[] = [];
  /** Those that are being taken out. */
  retired: readonly TaskSlot[] = [];
  /** Of the tasks by index, those that were taken out as well: what was counted remains. */
  readonly meters: TaskMeter[] = [];
  /** For the user's functions, beyond the life of a task. */
  readonly shared: Map<unknown, unknown> = new Map();
  /** Of a spout: the bolts that its tuples come to, at however many removes. */
  outflows: readonly { readonly to: ComponentRun; readonly anyTask: boolean }[] = [];
  /** Spouts whose tuples may come here. */
  upstream: readonly ComponentRun[] = [];
  /** Of a bolt: the bolts whose lack of room holds it up. */
  targets: readonly { readonly to: ComponentRun; readonly anyTask: boolean }[] = [];
  /** Bolts that this one holds up. */
  feeders: readonly ComponentRun[] = [];
  /** Tasks of its targets that are full. */
  pressed = 0;
  /** Tasks of this bolt that wait for room. */
  readonly waiters: Set<RoomWait> = new Set();
  /** The topology ends: nobody waits for room any more. */
  private released = false;
  /** Tasks that are full, and tasks that were missed. */
  private full = 0;
  private missed = 0;
  /** Of a spout: it says no more of congestion until then. */
  quietUntil = 0;
  /** Of a bolt with windows: what was lost that any of its tasks will get again, and who notes what is lost. */
  losses: Losses | undefined = undefined;
  lost: ((tuple: Tuple) => void) | undefined = undefined;
  private readonly run: RunningTopology;

  constructor(plan: ComponentPlan, run: RunningTopology) {
    this.plan = plan;
    this.nobody = run.kernel.nobody(plan.name);
    this.run = run;
  }

  get name(): string {
    return this.plan.name;
  }

  /** Tuples that one of its tasks may have in work at once. */
  get concurrency(): number {
    return concurrencyOf(this.plan);
  }

  meterOf(index: number, now: number): TaskMeter {
    this.meters[index] ??= new TaskMeter(now);
    return this.meters[index];
  }

  /** Whether a tuple of this spout may come to a bolt where no task that could take it has room. */
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
      if (this.run.kernel.interception !== undefined) this.run.hooks.slotRead(slot);
      if (slot.pressure === "accept") return true;
    }
    return false;
  }

  /** A task is full, or is so no more: the bolts and spouts upstream may have to wait, or can go on. */
  fill(by: 1 | -1): void {
    this.full += by;
    invariant(this.full >= 0, "a task has room again only after it was full");
    for (const feeder of this.feeders) {
      feeder.touched();
      feeder.pressed += by;
    }
    this.changed(by);
  }

  /** A task was missed, or is there again. */
  miss(by: 1 | -1): void {
    this.missed += by;
    invariant(this.missed >= 0, "a task is back only after it was missed");
    this.changed(by);
  }

  private changed(by: 1 | -1): void {
    for (const spout of this.upstream) spout.touched();
    if (by < 0) this.eased();
  }

  /** For a simulator: whether it has to wait has changed. */
  private touched(): void {
    const { kernel, name } = this.run;
    kernel.interception?.touched(`t:${name}/${this.name}`, "write");
  }

  /** A task runs that did not: when others have no room, that is news. */
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

  /** The topology ends: none of its tasks waits for room any more. */
  release(): void {
    this.released = true;
    this.goOn();
  }
}

/** Says to components whose tuples come where: who pauses or waits for whom. */
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
