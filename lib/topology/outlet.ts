// What a task emits through: one copy of a tuple for each task that it goes to, with an edge of its own in each tree.

import { exitedError } from "../process/call.js";
import { OptionError } from "../process/errors.js";
import type { Process } from "../process/process.js";
import { joinTrees, random32 } from "./anchors.js";
import type { Wire } from "./blueprint.js";
import type { EmitOptions } from "./component.js";
import { AnchorError, textOf } from "./errors.js";
import type { Losses } from "./losses.js";
import { AckerMessage, TRACK } from "./messages.js";
import type { InputMeter, StreamMeter } from "./metrics.js";
import { Emission, Router, UNREACHABLE } from "./router.js";
import type { Run } from "./run.js";
import type { ComponentRun, Life, Slot } from "./slot.js";
import { ACKED, FAILED_TUPLE, TAKEN, Tuple, WAITING, type Way } from "./tuple.js";

const NO_OPTIONS: EmitOptions = {};
const NO_TASKS: readonly number[] = [];

/** One task at the end of a wire, for one task that emits. */
export class Lane implements Way {
  readonly slot: Slot;
  /** Counts what the task makes of what it is given along this wire. */
  readonly meter: InputMeter;
  readonly anchored: boolean;
  private readonly lanes: Lanes;
  private readonly run: Run;

  constructor(lanes: Lanes, slot: Slot, run: Run) {
    this.lanes = lanes;
    this.anchored = lanes.anchored;
    this.slot = slot;
    this.run = run;
    this.meter = slot.meter.input(lanes.input);
  }

  get to(): string {
    return this.slot.component.name;
  }

  get losses(): Losses | undefined {
    return this.lanes.interchangeable ? this.slot.component.losses : this.slot.losses;
  }

  send(tuple: Tuple): void {
    const { slot, run } = this;
    const process = slot.process;
    if (run.kernel.interception !== undefined) {
      run.looked(slot);
      run.weighed(slot, "write");
    }
    if (process === undefined) {
      // The place of a task that was taken out stays empty: no spout waits for it.
      if (slot.retired) tuple.state = TAKEN;
      else slot.miss();
      this.lost(tuple);
      return;
    }
    slot.arrives();
    process.deliver(tuple);
  }

  /** Its task ended before it came to it: where any task will do, another gets it; else it has failed. */
  cameBack(tuple: Tuple): void {
    this.slot.leaves();
    if (tuple.state !== WAITING) return;
    const { lanes, run } = this;
    const other = run.is.ending || !lanes.interchangeable ? undefined : lanes.again(tuple);
    if (other === undefined) this.lost(tuple);
    else lanes.lane(other).send(lanes.forward(tuple, other));
    run.rest();
  }

  lost(tuple: Tuple): void {
    if (tuple.anchored) this.meter.failed++;
    else this.slot.meter.lost++;
    this.lanes.target.lost?.(tuple);
    this.run.fail(tuple);
  }
}

/**
 * The way of a tuple whose emit named a task that its stream does not lead to, such as one that was taken out. The tuple
 * fails and spends a retry, since the next try names the same task.
 */
class Nowhere extends Lane {
  override send(tuple: Tuple): void {
    tuple.state = TAKEN;
    this.lost(tuple);
  }
}

/** A wire, for one task that emits along it. */
export class Lanes {
  readonly target: ComponentRun;
  readonly anchored: boolean;
  readonly stream: string;
  readonly everyone: boolean;
  readonly interchangeable: boolean;
  /** What the bolt at its end knows the stream as: `component.stream`. */
  readonly input: string;
  private readonly emission: Emission;
  private readonly router: Router<Slot>;
  private readonly byIndex: Lane[] = [];
  private readonly run: Run;
  /** An emit names the task that gets the tuple. */
  readonly direct: boolean;

  constructor(wire: Wire, emission: Emission, firstTurn: number, run: Run) {
    this.target = run.component(wire.to);
    this.anchored = wire.anchored;
    this.stream = wire.stream;
    this.everyone = wire.grouping.everyone === true;
    this.interchangeable = wire.grouping.interchangeable === true;
    this.direct = (wire.grouping as { readonly direct?: boolean }).direct === true;
    this.input = `${wire.from}.${wire.stream}`;
    this.emission = emission;
    this.router = new Router(wire.grouping, firstTurn, run.kernel.env);
    this.run = run;
  }

  /** Who gets what the emission shows; undefined when nobody is to have it. */
  choose(): Slot | undefined | typeof UNREACHABLE {
    const { slots } = this.target;
    if (this.run.kernel.interception !== undefined)
      for (const slot of slots) {
        this.run.looked(slot);
        this.run.weighed(slot, "read");
      }
    const chosen = this.router.choose(this.emission, slots);
    if (chosen !== undefined && chosen !== UNREACHABLE && (chosen as Slot | null)?.component !== this.target)
      throw new OptionError(
        `the grouping of ${this.input}`,
        chosen,
        "a function that gives one of the tasks, or undefined",
      );
    return chosen;
  }

  lane(slot: Slot): Lane {
    const known = this.byIndex[slot.index];
    if (known?.slot === slot) return known;
    const lane = new Lane(this, slot, this.run);
    this.byIndex[slot.index] = lane;
    return lane;
  }

  /** For a task that this wire does not lead to. */
  nowhere(): Lane {
    return new Nowhere(this, this.target.slots[0] as Slot, this.run);
  }

  /** Another task for a tuple that came back. Called while a process ends: a grouping that throws must not stop that. */
  again(tuple: Tuple): Slot | undefined {
    this.emission.payload = tuple.values;
    this.emission.directTask = undefined;
    try {
      const slot = this.choose();
      return slot === UNREACHABLE ? undefined : slot;
    } catch (error) {
      this.run.log(
        "error",
        tuple.component,
        tuple.task,
        () => `could not send on ${this.input}: ${textOf(error)}`,
      );
      return undefined;
    }
  }

  /** The same copy, on its way to another task. */
  forward(tuple: Tuple, slot: Slot): Tuple {
    const copy = this.copy(tuple.values, tuple.component, tuple.stream, tuple.task, this.lane(slot));
    copy.rootHi = tuple.rootHi;
    copy.rootLo = tuple.rootLo;
    copy.edgeHi = tuple.edgeHi;
    copy.edgeLo = tuple.edgeLo;
    copy.more = tuple.more;
    copy.born = tuple.born;
    return copy;
  }

  copy(values: object, component: string, stream: string, task: number, lane: Lane): Tuple {
    return new Tuple(values as Readonly<Record<string, unknown>>, component, stream, task, lane);
  }
}

/** A stream of the component, for one task that emits on it. */
export class OutStream {
  readonly name: string;
  readonly meter: StreamMeter;
  readonly wires: readonly Lanes[];
  /** Its wire, when it has one alone, to one task at a time, and nobody listens in. */
  readonly only: Lanes | undefined;
  readonly emission: Emission;

  constructor(name: string, slot: Slot, run: Run) {
    const component = slot.component.name;
    this.name = name;
    this.meter = slot.meter.stream(name);
    this.emission = new Emission(component, name, run.kernel.node.name, run.kernel.env);
    this.wires = run.blueprint.wires
      .filter((wire) => wire.from === component && wire.stream === name)
      .map((wire) => new Lanes(wire, this.emission, slot.index, run));
    const [first, ...others] = this.wires;
    const isPlain = others.length === 0 && first?.everyone === false && !slot.component.plan.config.debug;
    this.only = isPlain ? first : undefined;
  }
}

/** All that one life of a task emits. */
export class Outlet {
  private readonly streams: ReadonlyMap<string, OutStream>;
  private readonly run: Run;
  private readonly slot: Slot;
  private readonly process: Process;

  constructor(run: Run, life: Life) {
    this.run = run;
    this.slot = life.slot;
    this.process = life.process;
    const names = Object.keys(life.slot.component.plan.streams);
    this.streams = new Map(names.map((name) => [name, new OutStream(name, life.slot, run)]));
  }

  stream(name: string): OutStream {
    const stream = this.streams.get(name);
    if (stream !== undefined) return stream;
    throw new OptionError(
      `${this.slot.component.name}.${name}`,
      name,
      `one of its streams: ${[...this.streams.keys()].join(", ")}`,
    );
  }

  /** Emits for a bolt: anchored to these tuples, where the wires are. */
  emit(
    out: OutStream,
    values: object,
    anchors: Tuple | readonly Tuple[] | undefined,
    options?: EmitOptions,
  ): void {
    if (anchors instanceof Tuple) this.checkAnchor(anchors);
    else if (anchors !== undefined) for (const anchor of anchors) this.checkAnchor(anchor);
    const { env } = this.run.kernel;
    if (out.only !== undefined && options === undefined) {
      // As most emits are: one copy, and nothing is allocated beside it.
      const copy = this.begin(out, values, undefined).copyAlong(out.only, values);
      if (copy === undefined) return;
      if (anchors !== undefined && out.only.anchored) joinTrees(copy, anchors, env);
      (copy.way as Lane).send(copy);
      return;
    }
    const copies = this.make(out, values, options);
    if (anchors !== undefined) {
      for (const copy of copies) if ((copy.way as Lane).anchored) joinTrees(copy, anchors, env);
    }
    this.send(out, values, copies, options);
  }

  /** Emits unanchored, for a spout. */
  emitLoose(out: OutStream, values: object, options?: EmitOptions): void {
    this.send(out, values, this.make(out, values, options), options);
  }

  /**
   * Emits a new tree for a spout. Its acker is told before any copy is sent. False, and nothing is done, when that
   * acker does not run; `tracked` hears of root and acker.
   */
  emitTree(
    out: OutStream,
    values: object,
    life: Life,
    options: EmitOptions | undefined,
    tracked: (hi: number, lo: number, acker: Process) => void,
  ): boolean {
    const { env } = this.run.kernel;
    const hi = random32(env);
    const lo = random32(env) || 1;
    const slot = this.run.ackerOf(lo);
    this.run.looked(slot);
    const acker = slot.process;
    if (acker === undefined) return false;
    const copies = this.make(out, values, options);
    let xorHi = 0;
    let xorLo = 0;
    for (const copy of copies) {
      if (!(copy.way as Lane).anchored) continue;
      copy.born = this.run.expiry.beats;
      copy.rootHi = hi;
      copy.rootLo = lo;
      copy.edgeHi = random32(env);
      copy.edgeLo = random32(env) || 1;
      xorHi ^= copy.edgeHi;
      xorLo ^= copy.edgeLo;
    }
    tracked(hi, lo, acker);
    acker.deliver(new AckerMessage(TRACK, hi, lo, xorHi, xorLo, life));
    this.send(out, values, copies, options);
    return true;
  }

  /** Shows the groupings what is emitted. */
  private begin(out: OutStream, values: object, task: number | undefined): this {
    if (!this.process.alive) throw exitedError(this.process);
    out.meter.emitted++;
    out.emission.payload = values;
    out.emission.directTask = task;
    return this;
  }

  private make(out: OutStream, values: object, options: EmitOptions | undefined): readonly Tuple[] {
    this.begin(out, values, options?.task);
    const copies: Tuple[] = [];
    let found = options?.task === undefined;
    for (const wire of out.wires) {
      if (wire.everyone) {
        for (const target of wire.target.slots) copies.push(this.copyTo(wire, target, values));
        continue;
      }
      const copy = this.copyAlong(wire, values);
      if (copy === undefined) continue;
      copies.push(copy);
      found ||= wire.direct;
    }
    if (!found) this.misdirected(out, values, options?.task as number, copies);
    return copies;
  }

  /** An emit named a task: if that is none of those its stream leads to, the tuple fails. */
  private misdirected(out: OutStream, values: object, wanted: number, copies: Tuple[]): void {
    const direct = out.wires.filter((wire) => wire.direct);
    const wire = direct.find(({ anchored }) => anchored) ?? direct[0];
    if (wire === undefined) return;
    const { component, task } = this.slot;
    copies.push(wire.copy(values, component.name, wire.stream, task, wire.nowhere()));
    const known = direct.flatMap(({ target }) => target.slots.map((slot) => slot.task)).join(", ");
    this.run.log(
      "warn",
      component.name,
      task,
      () =>
        `failed a tuple of ${out.name} for task ${wanted}, which does not run; those that do are ${known}`,
    );
  }

  private copyAlong(wire: Lanes, values: object): Tuple | undefined {
    const chosen = wire.choose();
    if (chosen === undefined) return undefined;
    // To any task, then: it does not run, and so the tuple fails on its way.
    const target = chosen === UNREACHABLE ? wire.target.slots[0] : chosen;
    return target === undefined ? undefined : this.copyTo(wire, target, values);
  }

  private copyTo(wire: Lanes, target: Slot, values: object): Tuple {
    const { component, task } = this.slot;
    return wire.copy(values, component.name, wire.stream, task, wire.lane(target));
  }

  private send(
    out: OutStream,
    values: object,
    copies: readonly Tuple[],
    options: EmitOptions | undefined,
  ): void {
    const { onTasks } = options ?? NO_OPTIONS;
    const { debug } = this.slot.component.plan.config;
    const tasks =
      onTasks !== undefined || debug
        ? copies.filter(({ way }) => !(way instanceof Nowhere)).map(({ way }) => (way as Lane).slot.task)
        : NO_TASKS;
    if (debug) this.publish(out, values, tasks);
    for (let i = 0; i < copies.length; i++) {
      const copy = copies[i] as Tuple;
      (copy.way as Lane).send(copy);
    }
    onTasks?.(tasks);
  }

  private checkAnchor(anchor: Tuple): void {
    if (anchor.state === ACKED || anchor.state === FAILED_TUPLE)
      throw new AnchorError(this.slot.component.name, this.slot.task, `${anchor.component}.${anchor.stream}`);
  }

  private publish(out: OutStream, values: object, to: readonly number[]): void {
    const { events } = this.run.kernel;
    if (!events.wants.tuple) return;
    events.publish("tuple", {
      topology: this.run.name,
      component: this.slot.component.name,
      task: this.slot.task,
      stream: out.name,
      values,
      to,
    });
  }
}
