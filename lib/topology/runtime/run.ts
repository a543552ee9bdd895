// A topology while it runs: the places of its tasks, and what these share. It belongs to the process that started it
// (director.ts), and outlives the restart of any other.

import type { Access } from "../../process/interception.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { ExitReason } from "../../process/reason.js";
import type { Blueprint, ComponentPlan } from "../definition/blueprint.js";
import { capacityFor } from "../definition/check.js";
import type { LogLevel } from "../definition/component.js";
import { ACKED, FAILED_TUPLE, TAKEN, type Tuple, WAITING } from "../definition/tuple.js";
import { eachTree } from "../tracking/anchors.js";
import { ackerPlan } from "./acker-plan.js";
import { Expiry } from "./expiry.js";
import { noteFailure } from "./lineage.js";
import { ACK, AckerMessage, EXTEND, FAIL, type Order, RETURN } from "./messages.js";
import { Settlements } from "./settlements.js";
import { ComponentRun, connect, ExecutorRun, Life, Slot } from "./slot.js";

/** Takes the lines that components log. */
export type LogSink = (
  level: LogLevel,
  component: string,
  task: number,
  line: string | (() => string),
) => void;

/** What the tasks are told of the state of the whole. */
export interface Switches {
  /** Bolts are active. */
  running: boolean;
  /** Spouts are active: not in a pause, nor when it stops. */
  flowing: boolean;
  /** It stops, and what is under way is to end. */
  draining: boolean;
  /** It stops for good: what is left is given up. */
  ending: boolean;
  /** It stops at once: bolts get no time. */
  hasty: boolean;
  /** It is paused: bolts and spouts are not active. */
  paused: boolean;
}

/** A task of a running topology. */
export interface TaskInfo {
  readonly component: string;
  readonly task: number;
  /** Its process; undefined while it is being restarted. */
  readonly pid: Pid | undefined;
  /** Tuples in front of it. */
  readonly waiting: number;
  readonly restarts: number;
}

export class Run {
  readonly blueprint: Blueprint;
  readonly kernel: Kernel;
  readonly log: LogSink;
  readonly is: Switches = {
    running: false,
    flowing: false,
    draining: false,
    ending: false,
    hasty: false,
    paused: false,
  };
  readonly startedAt: number;
  /** The ackers, then the others as the blueprint has them. */
  readonly components: readonly ComponentRun[];
  readonly ackers: ComponentRun;
  readonly spouts: readonly ComponentRun[];
  /** Processes that are not known to have ended: the custodian watches over them. */
  readonly lives: Set<Life> = new Set();
  /** The system task: it ticks, and fails what a bolt that has ended held. */
  custodian: Process | undefined = undefined;
  private custodians = 0;
  private readonly systemNumber: number;
  /** The supervisors of ackers, bolts, spouts and system, when they run. */
  readonly groups: Map<string, Pid> = new Map();
  /** Why the last task crashed that did: when the topology fails, this is why. */
  lastCrash: ExitReason | undefined = undefined;
  /** How often it has started again as a whole. */
  restarts = 0;
  /** Called when it has ended. */
  readonly endings: Set<() => void> = new Set();
  readonly settlements: Settlements = new Settlements();
  private lastTask = 0;
  readonly expiry: Expiry = new Expiry(this);
  /** Tuples that spouts have emitted with an id. */
  serial = 0;
  /** A bolt wants to know where tuples fail. */
  traces = false;

  constructor(blueprint: Blueprint, kernel: Kernel, log: LogSink) {
    this.blueprint = blueprint;
    this.kernel = kernel;
    this.log = log;
    this.startedAt = kernel.env.now();
    const ackers = this.begin(ackerPlan(blueprint));
    const bolts = blueprint.components.filter(({ kind }) => kind === "bolt").map((plan) => this.begin(plan));
    const spouts = blueprint.components
      .filter(({ kind }) => kind === "spout")
      .map((plan) => this.begin(plan));
    this.ackers = ackers;
    this.spouts = spouts;
    this.components = [ackers, ...bolts, ...spouts];
    this.systemNumber = ++this.lastTask;
    connect(this.components, blueprint);
  }

  get name(): string {
    return this.blueprint.name;
  }

  component(name: string): ComponentRun {
    return this.components.find((one) => one.name === name) as ComponentRun;
  }

  get bolts(): readonly ComponentRun[] {
    return this.components.filter((one) => one.plan.kind === "bolt" && one !== this.ackers);
  }

  /** All tasks of a component, those that are being taken out as well. */
  slotsOf(component: ComponentRun): readonly Slot[] {
    return [...component.slots, ...component.retired];
  }

  /** Makes the place of one more task, which gets no tuples yet. Executors get their tasks in turn. */
  addSlot(component: ComponentRun): Slot {
    const wanted = Math.min(component.plan.executors, component.slots.length + 1);
    if (component.executors.length < wanted)
      component.executors.push(new ExecutorRun(component, component.executors.length));
    const index = component.slots.length;
    const executor = component.executors[index % component.executors.length] as ExecutorRun;
    const slot = new Slot(++this.lastTask, index, executor, this.kernel.node.name, this.kernel.env.now());
    executor.place(slot);
    return slot;
  }

  /** The task of the slot has its share from now on. */
  open(slot: Slot): void {
    const { component } = slot;
    component.slots = [...component.slots, slot];
    this.touched(slot);
    component.joined();
  }

  /** The last task of the component gets nothing more. */
  retire(component: ComponentRun): Slot {
    const slot = component.slots.at(-1) as Slot;
    slot.retired = true;
    component.slots = component.slots.slice(0, -1);
    component.retired = [...component.retired, slot];
    this.touched(slot);
    return slot;
  }

  /** A task that was taken out has ended. */
  remove(slot: Slot): void {
    slot.component.retired = slot.component.retired.filter((one) => one !== slot);
    slot.executor.displace(slot);
    slot.back();
    slot.meter.pending = 0;
    slot.meter.waiting = 0;
  }

  // ── lives ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** A process is to fill a slot. Those that fail to start count as restarts, as they do for their supervisor. */
  begins(slot: Slot): void {
    if (slot.starts++ > 0) slot.meter.restarts++;
  }

  /** A process fills a slot. */
  enter(slot: Slot, process: Process): Life {
    const life = new Life(slot, process);
    slot.life = life;
    slot.done = false;
    slot.ticking = false;
    slot.back();
    this.touched(slot);
    slot.component.joined();
    this.lives.add(life);
    this.looked(undefined);
    if (this.custodian?.alive) this.custodian.deliver(life);
    return life;
  }

  /** A process has ended: what it, of a bolt, had taken and not settled has failed, and is told at once. */
  settle(life: Life): void {
    if (!this.lives.delete(life)) return;
    const { held, current, beside } = life;
    life.current = undefined;
    if (current?.state === TAKEN) held.add(current);
    for (const tuple of beside) if (tuple.state === TAKEN) held.add(tuple);
    beside.clear();
    for (const tuple of held) tuple.way?.lost(tuple);
    held.clear();
    this.settlements.notify();
  }

  order(component: ComponentRun, what: Order): void {
    for (const slot of this.slotsOf(component)) slot.process?.deliver(what);
  }

  // ── trees ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** The acker of a tree, by the lower half of its root's id. */
  ackerOf(lo: number): Slot {
    const { slots } = this.ackers;
    return slots[(lo >>> 0) % slots.length] as Slot;
  }

  /** A tuple is done: the acker of each of its trees is told its edge and those of its children. */
  ack(tuple: Tuple): void {
    tuple.state = ACKED;
    if (!tuple.anchored) return;
    const { childrenHi, childrenLo } = tuple;
    this.tell(ACK, tuple.rootHi, tuple.rootLo, tuple.edgeHi ^ childrenHi, tuple.edgeLo ^ childrenLo);
    if (tuple.more === undefined) return;
    eachTree(tuple.more, (hi, lo, edgeHi, edgeLo) =>
      this.tell(ACK, hi, lo, edgeHi ^ childrenHi, edgeLo ^ childrenLo),
    );
  }

  /** A tuple could not be done: the acker of each of its trees is told, and whether anybody had taken it. */
  fail(tuple: Tuple): void {
    const kind = tuple.state === WAITING ? RETURN : FAIL;
    tuple.state = FAILED_TUPLE;
    if (!tuple.anchored) return;
    if (this.traces && tuple.way !== undefined) noteFailure(this, tuple, tuple.way.to);
    this.tell(kind, tuple.rootHi, tuple.rootLo, 0, 0);
    if (tuple.more !== undefined) eachTree(tuple.more, (hi, lo) => this.tell(kind, hi, lo, 0, 0));
  }

  /** An acker that does not run needs no telling: its spouts take its trees for failed. */
  private tell(kind: AckerMessage["kind"], hi: number, lo: number, xorHi: number, xorLo: number): void {
    const slot = this.ackerOf(lo);
    this.looked(slot);
    slot.process?.deliver(new AckerMessage(kind, hi, lo, xorHi, xorLo, undefined));
  }

  /** A tuple takes long: the timeouts of its trees begin anew. */
  extend(tuple: Tuple): void {
    tuple.born = this.expiry.beats;
    if (!tuple.anchored) return;
    this.tell(EXTEND, tuple.rootHi, tuple.rootLo, 0, 0);
    if (tuple.more !== undefined) eachTree(tuple.more, (hi, lo) => this.tell(EXTEND, hi, lo, 0, 0));
  }

  // ── rest ──────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Reliable tuples that are not settled. */
  get pending(): number {
    let pending = 0;
    for (const spout of this.spouts) for (const { kept } of this.slotsOf(spout)) pending += kept.size;
    return pending;
  }

  /** What there is to say of the system task. */
  get systemTask(): TaskInfo {
    const { custodian, systemNumber, custodians } = this;
    const pid = custodian?.alive ? custodian.pid : undefined;
    return { component: SYSTEM, task: systemNumber, pid, waiting: 0, restarts: Math.max(0, custodians - 1) };
  }

  /** Tells a task of a bolt to settle what it holds back. */
  flush(task: number): void {
    const slot = this.bolts.flatMap((bolt) => this.slotsOf(bolt)).find((one) => one.task === task);
    const life = slot?.life;
    if (life?.alive !== true) return;
    life.flushing = true;
    life.process.deliver("flush");
  }

  /** Tuples that bolts have taken and hold back. */
  get held(): readonly Tuple[] {
    return this.bolts.flatMap((bolt) => this.slotsOf(bolt).flatMap(({ life }) => [...(life?.held ?? [])]));
  }

  // ── for a simulator ───────────────────────────────────────────────────────────────────────────────────────────

  /** Who fills a slot has changed. */
  touched(slot: Slot): void {
    this.kernel.interception?.touched(`t:${this.name}/${slot.id}`, "write");
  }

  /** How much a task has to do has changed, or decides where a tuple goes. */
  weighed(slot: Slot, access: Access): void {
    const { interception } = this.kernel;
    if (interception !== undefined && slot.component.slots.length > 1)
      interception.touched(`l:${this.name}/${slot.id}`, access);
  }

  /** There is a new system task. */
  watchedBy(process: Process): void {
    this.custodian = process;
    this.custodians++;
    this.kernel.interception?.touched(`t:${this.name}/${SYSTEM}`, "write");
  }

  /** Somebody goes by who fills a slot, or who the system task is. */
  looked(slot: Slot | undefined): void {
    const { interception } = this.kernel;
    if (interception === undefined) return;
    interception.touched(`t:${this.name}/${slot?.id ?? SYSTEM}`, "read");
    if (slot !== undefined) interception.met(slot.pid);
    else if (this.custodian !== undefined) interception.met(this.custodian.pid);
  }

  // ── beginnings ────────────────────────────────────────────────────────────────────────────────────────────────

  private begin(plan: ComponentPlan): ComponentRun {
    const component = new ComponentRun(plan, this);
    for (let task = 0; task < plan.tasks; task++) this.open(this.addSlot(component));
    return component;
  }

  /** The bolt that most tuples wait in front of. */
  get busiest(): { readonly name: string; readonly waiting: number } {
    let busiest = { name: "", waiting: -1 };
    for (const bolt of this.bolts) {
      const waiting = this.slotsOf(bolt).reduce((sum, slot) => sum + slot.waiting, 0);
      if (waiting > busiest.waiting) busiest = { name: bolt.name, waiting };
    }
    return busiest;
  }

  /** Trees that each acker has room for: enough for all that the spouts of this moment may have pending. */
  get ackerCapacity(): number {
    const { ackerCapacity } = this.blueprint.config;
    if (ackerCapacity !== undefined) return ackerCapacity;
    return capacityFor(this.spouts.map((spout) => this.slotsOf(spout).length * spout.plan.config.maxPending));
  }
}

/** The name of the system task. */
export const SYSTEM = "__system";

export { ACKERS } from "./acker-plan.js";
