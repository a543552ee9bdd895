// What a task emits through: one copy of a tuple for each task that it goes to, with an edge of its own in each tree.

import { OptionError } from "../../process/errors.js";
import type { Process } from "../../process/process.js";
import { exitedError } from "../../process/request.js";
import type { EmitOptions } from "../definition/component.js";
import { AnchorError } from "../definition/errors.js";
import { ACKED, FAILED_TUPLE, Tuple } from "../definition/tuple.js";
import { joinTrees, random32 } from "../tracking/anchors.js";
import { type Lane, Lanes, Nowhere } from "./lanes.js";
import { AckerMessage, TRACK } from "./messages.js";
import type { StreamMeter } from "./metrics.js";
import { Emission, UNREACHABLE } from "./router.js";
import type { Run } from "./run.js";
import type { Life, Slot } from "./slot.js";

const NO_OPTIONS: EmitOptions = {};
const NO_TASKS: readonly number[] = [];

/** A stream of the component, for one task that emits on it. */
export class OutStream {
  readonly name: string;
  readonly meter: StreamMeter;
  readonly subscriptions: readonly Lanes[];
  /** Its subscription, when it has one alone, to one task at a time, and nobody listens in. */
  readonly only: Lanes | undefined;
  readonly emission: Emission;

  constructor(name: string, slot: Slot, run: Run) {
    const component = slot.component.name;
    this.name = name;
    this.meter = slot.meter.stream(name);
    this.emission = new Emission(component, name, run.kernel.node.name, run.kernel.env);
    this.subscriptions = run.blueprint.subscriptions
      .filter((subscription) => subscription.from === component && subscription.stream === name)
      .map((subscription) => new Lanes(subscription, this.emission, slot.index, run));
    const [first, ...others] = this.subscriptions;
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

  /** Emits for a bolt: anchored to these tuples, where the subscriptions are. */
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
    for (const subscription of out.subscriptions) {
      if (subscription.everyone) {
        for (const target of subscription.target.slots)
          copies.push(this.copyTo(subscription, target, values));
        continue;
      }
      const copy = this.copyAlong(subscription, values);
      if (copy === undefined) continue;
      copies.push(copy);
      found ||= subscription.direct;
    }
    if (!found) this.misdirected(out, values, options?.task as number, copies);
    return copies;
  }

  /** An emit named a task: if that is none of those its stream leads to, the tuple fails. */
  private misdirected(out: OutStream, values: object, wanted: number, copies: Tuple[]): void {
    const direct = out.subscriptions.filter((subscription) => subscription.direct);
    const subscription = direct.find(({ anchored }) => anchored) ?? direct[0];
    if (subscription === undefined) return;
    const { component, task } = this.slot;
    copies.push(subscription.copy(values, component.name, subscription.stream, task, subscription.nowhere()));
    const known = direct.flatMap(({ target }) => target.slots.map((slot) => slot.task)).join(", ");
    this.run.log(
      "warn",
      component.name,
      task,
      () =>
        `failed a tuple of ${out.name} for task ${wanted}, which does not run; those that do are ${known}`,
    );
  }

  private copyAlong(subscription: Lanes, values: object): Tuple | undefined {
    const chosen = subscription.choose();
    if (chosen === undefined) return undefined;
    // To any task, then: it does not run, and so the tuple fails on its way.
    const target = chosen === UNREACHABLE ? subscription.target.slots[0] : chosen;
    return target === undefined ? undefined : this.copyTo(subscription, target, values);
  }

  private copyTo(subscription: Lanes, target: Slot, values: object): Tuple {
    const { component, task } = this.slot;
    return subscription.copy(values, component.name, subscription.stream, task, subscription.lane(target));
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
