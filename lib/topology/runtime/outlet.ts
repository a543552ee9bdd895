// What a task emits through: one copy of a tuple for each task that it goes to, with an edge of its own in each tree.

import { OptionError } from "../../process/errors.js";
import type { Process } from "../../process/process.js";
import { exitedError } from "../../process/request.js";
import type { EmitOptions } from "../definition/component.js";
import { AnchorError } from "../definition/errors.js";
import { ACKED, FAILED, Tuple } from "../definition/tuple.js";
import { joinTrees, random32 } from "../tracking/anchors.js";
import { type Channel, DeadEnd, OutgoingSubscription } from "./channels.js";
import { AckerMessage, TRACK } from "./messages.js";
import type { StreamMeter } from "./metrics.js";
import { Emission } from "./router.js";
import type { RunningTopology } from "./running-topology.js";
import type { Incarnation, TaskSlot } from "./task-slots.js";

const NO_TASKS: readonly number[] = [];

/** A stream of the component, for one task that emits on it. */
export class OutStream {
  readonly name: string;
  readonly meter: StreamMeter;
  readonly subscriptions: readonly OutgoingSubscription[];
  /** Its subscription, when there is one alone, to one task at a time, and no event is published for each emit. */
  readonly only: OutgoingSubscription | undefined;
  readonly emission: Emission;

  constructor(name: string, slot: TaskSlot, run: RunningTopology) {
    const component = slot.component.name;
    this.name = name;
    this.meter = slot.meter.stream(name);
    this.emission = new Emission(component, name, run.kernel.node.name, run.kernel.env);
    this.subscriptions = run.blueprint.subscriptions
      .filter(({ from, stream }) => from === component && stream === name)
      .map((subscription) => new OutgoingSubscription(subscription, this.emission, slot, run));
    const [first, ...others] = this.subscriptions;
    const isPlain = others.length === 0 && first?.everyone === false && !slot.component.plan.config.debug;
    this.only = isPlain ? first : undefined;
  }
}

/** A tree that is about to be emitted: its root, its acker, and the XOR of its edges. */
export interface NewTree {
  readonly hi: number;
  readonly lo: number;
  readonly acker: Process;
  readonly copies: readonly Tuple[];
  readonly xorHi: number;
  readonly xorLo: number;
}

/** Everything that one incarnation of a task emits. */
export class Outlet {
  private readonly streams: ReadonlyMap<string, OutStream>;
  private readonly run: RunningTopology;
  private readonly slot: TaskSlot;
  private readonly incarnation: Incarnation;
  private readonly process: Process;

  constructor(run: RunningTopology, incarnation: Incarnation) {
    const { slot, process } = incarnation;
    this.run = run;
    this.slot = slot;
    this.incarnation = incarnation;
    this.process = process;
    const names = Object.keys(slot.component.plan.streams);
    this.streams = new Map(names.map((name) => [name, new OutStream(name, slot, run)]));
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

  /** Emits a tuple, anchored to these tuples on subscriptions that are. Without anchors it belongs to no tree. */
  emit(
    out: OutStream,
    values: object,
    anchors: Tuple | readonly Tuple[] | undefined,
    options?: EmitOptions,
  ): void {
    if (anchors instanceof Tuple) this.checkAnchor(anchors);
    else if (anchors !== undefined) for (const anchor of anchors) this.checkAnchor(anchor);
    const { only } = out;
    if (only !== undefined && options === undefined) {
      // Most emits are of this kind. Nothing is allocated beside the one copy.
      this.show(out, values, undefined);
      const channel = only.route();
      if (channel === undefined) return;
      const copy = channel.copy(values);
      if (anchors !== undefined && only.anchored) this.join(copy, anchors);
      channel.send(copy);
      return;
    }
    const copies = this.copies(out, values, options);
    if (anchors !== undefined)
      for (const copy of copies) if ((copy.channel as Channel).anchored) this.join(copy, anchors);
    this.send(out, values, copies, options);
  }

  /** The copy joins the trees of its anchors. Most tuples without a tree are anchored to one without a tree. */
  private join(copy: Tuple, anchors: Tuple | readonly Tuple[]): void {
    if (anchors instanceof Tuple && !anchors.anchored) return;
    joinTrees(copy, anchors, this.run.kernel.env);
    this.run.results?.join(copy, anchors, this.incarnation.tuples.result);
  }

  /** Makes the copies of a new tree, whose root is random. Undefined when no acker runs. */
  plant(out: OutStream, values: object, options: EmitOptions | undefined): NewTree | undefined {
    const { env } = this.run.kernel;
    const hi = random32(env);
    const { acking } = this.run;
    let lo = random32(env) || 1;
    let acker = acking.ackerProcess(lo);
    if (acker === undefined) {
      lo = acking.nearby(lo);
      acker = acking.ackerProcess(lo);
      if (acker === undefined) return undefined;
    }
    const copies = this.copies(out, values, options);
    let xorHi = 0;
    let xorLo = 0;
    for (const copy of copies) {
      if (!(copy.channel as Channel).anchored) continue;
      copy.born = this.run.expiry.beats;
      copy.rootHi = hi;
      copy.rootLo = lo;
      copy.edgeHi = random32(env);
      copy.edgeLo = random32(env) || 1;
      xorHi ^= copy.edgeHi;
      xorLo ^= copy.edgeLo;
    }
    return { hi, lo, acker, copies, xorHi, xorLo };
  }

  /** Emits a tree. Its acker is notified before any copy is sent. */
  emitTree(out: OutStream, values: object, tree: NewTree, options: EmitOptions | undefined): void {
    const { hi, lo, acker, xorHi, xorLo } = tree;
    acker.deliver(new AckerMessage(TRACK, hi, lo, xorHi, xorLo, this.incarnation));
    this.send(out, values, tree.copies, options);
  }

  /** Shows the groupings what is emitted. */
  private show(out: OutStream, values: object, task: number | undefined): void {
    if (!this.process.alive) throw exitedError(this.process);
    out.meter.emitted++;
    out.emission.payload = values;
    out.emission.directTask = task;
  }

  private copies(out: OutStream, values: object, options: EmitOptions | undefined): readonly Tuple[] {
    const task = options?.task;
    this.show(out, values, task);
    const copies: Tuple[] = [];
    let found = task === undefined;
    for (const subscription of out.subscriptions) {
      if (subscription.everyone) {
        for (const slot of subscription.target.slots) copies.push(subscription.channel(slot).copy(values));
        continue;
      }
      const channel = subscription.route();
      if (channel === undefined) continue;
      copies.push(channel.copy(values));
      found ||= subscription.direct;
    }
    if (!found) this.misdirect(out, values, task as number, copies);
    return copies;
  }

  /** An emit named a task. When the stream does not lead to that task, the tuple fails. */
  private misdirect(out: OutStream, values: object, wanted: number, copies: Tuple[]): void {
    const direct = out.subscriptions.filter((subscription) => subscription.direct);
    const subscription = direct.find(({ anchored }) => anchored) ?? direct[0];
    if (subscription === undefined) return;
    const { component, task } = this.slot;
    copies.push(subscription.deadEnd().copy(values));
    const known = direct.flatMap(({ target }) => target.slots.map((slot) => slot.task)).join(", ");
    this.run.log(
      "warn",
      component.name,
      task,
      () =>
        `failed a tuple of ${out.name} for task ${wanted}, which does not run; those that do are ${known}`,
    );
  }

  private send(
    out: OutStream,
    values: object,
    copies: readonly Tuple[],
    options: EmitOptions | undefined,
  ): void {
    const onTasks = options?.onTasks;
    const { debug } = this.slot.component.plan.config;
    const tasks = onTasks !== undefined || debug ? tasksOf(copies) : NO_TASKS;
    if (debug) this.publish(out, values, tasks);
    for (let i = 0; i < copies.length; i++) {
      const copy = copies[i] as Tuple;
      (copy.channel as Channel).send(copy);
    }
    onTasks?.(tasks);
  }

  private checkAnchor(anchor: Tuple): void {
    if (anchor.state === ACKED || anchor.state === FAILED)
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

/** The tasks that copies of a tuple go to. */
function tasksOf(copies: readonly Tuple[]): readonly number[] {
  return copies
    .filter(({ channel }) => !(channel instanceof DeadEnd))
    .map(({ channel }) => (channel as Channel).slot.task);
}
