// The subscriptions that a task emits along, and a channel to each of the tasks at their ends.

import { OptionError } from "../../process/errors.js";
import type { Subscription } from "../definition/blueprint.js";
import { textOf } from "../definition/errors.js";
import { EXPIRED, QUEUED, TAKEN, Tuple, type TupleChannel } from "../definition/tuple.js";
import type { InputMeter } from "./metrics.js";
import { type Emission, Router, UNREACHABLE } from "./router.js";
import type { RunningTopology } from "./running-topology.js";
import type { ComponentRun, TaskSlot } from "./task-slots.js";

/** From one task that emits to one task that subscribes. */
export class Channel implements TupleChannel {
  readonly component: string;
  readonly stream: string;
  readonly task: number;
  readonly slot: TaskSlot;
  /** Counts what the receiving task does with the tuples of this channel. */
  readonly meter: InputMeter;
  readonly anchored: boolean;
  private readonly subscription: OutgoingSubscription;
  private readonly run: RunningTopology;

  constructor(subscription: OutgoingSubscription, slot: TaskSlot, run: RunningTopology) {
    this.subscription = subscription;
    this.component = subscription.component;
    this.stream = subscription.stream;
    this.task = subscription.task;
    this.anchored = subscription.anchored;
    this.slot = slot;
    this.run = run;
    this.meter = slot.meter.input(subscription.input);
  }

  /** The name of the stream to its subscribers. */
  get input(): string {
    return this.subscription.input;
  }

  /** Another task may get the tuple at the next try. */
  get roams(): boolean {
    return !this.subscription.everyone && !this.subscription.direct;
  }

  /** A new copy of a tuple, which this channel delivers. */
  copy(values: object): Tuple {
    return new Tuple(values as Readonly<Record<string, unknown>>, this);
  }

  send(tuple: Tuple): void {
    const { slot } = this;
    // Only tasks with windows have losses.
    if (slot.losses !== undefined && tuple.anchored && this.sentHome(tuple)) return;
    const process = slot.reach();
    if (process === undefined) {
      // No spout waits for a task that was taken out.
      if (slot.retired) tuple.state = TAKEN;
      else slot.buffer.miss();
      this.lost(tuple);
      return;
    }
    slot.buffer.arrives();
    process.deliver(tuple);
  }

  /** Sends the tuple to its home, if that is another task. */
  private sentHome(tuple: Tuple): boolean {
    const { slot } = this;
    const home = this.run.homes.get(slot.component)?.homeOf(tuple, slot) ?? slot;
    if (home === slot) return false;
    const copy = this.forward(tuple, home);
    (copy.channel as Channel).send(copy);
    return true;
  }

  /** The task ended before it took the tuple. Where any task will do, another gets it; else it has failed. */
  returned(tuple: Tuple): void {
    this.slot.buffer.leaves();
    if (tuple.state !== QUEUED) return;
    const { subscription, run } = this;
    const other = run.switches.ending || this.isHome(tuple) ? undefined : subscription.reroute(tuple);
    if (other === undefined) this.lost(tuple);
    else other.send(this.forward(tuple, other.slot));
    run.settlements.notify();
  }

  /** No other task will do: the grouping insists, or the task's windows may be those of an earlier time. */
  private isHome(tuple: Tuple): boolean {
    const { slot, subscription } = this;
    if (!subscription.interchangeable) return true;
    return this.run.homes.has(slot.component) && tuple.anchored && !slot.leaving;
  }

  expired(tuple: Tuple): void {
    tuple.state = EXPIRED;
    this.meter.expired++;
  }

  lost(tuple: Tuple, isInnocent: boolean = tuple.state === QUEUED): void {
    if (tuple.anchored) this.meter.failed++;
    else this.slot.meter.lost++;
    this.run.homes.get(this.subscription.target)?.lost(tuple);
    this.run.acking.fail(tuple, isInnocent);
  }

  /** The same copy of a tuple for another task of the bolt. Its channel has to send it. */
  private forward(tuple: Tuple, to: TaskSlot): Tuple {
    const copy = this.subscription.channel(to).copy(tuple.values);
    copy.rootHi = tuple.rootHi;
    copy.rootLo = tuple.rootLo;
    copy.edgeHi = tuple.edgeHi;
    copy.edgeLo = tuple.edgeLo;
    copy.more = tuple.more;
    copy.born = tuple.born;
    this.run.homes.get(this.slot.component)?.move(tuple, copy);
    this.run.results?.move(tuple, copy);
    return copy;
  }
}

/**
 * For a tuple whose emit named a task that its stream does not lead to, such as one that was taken out. The tuple fails and
 * spends a retry, since the next try names the same task.
 */
export class DeadEnd extends Channel {
  override send(tuple: Tuple): void {
    tuple.state = TAKEN;
    this.lost(tuple);
  }
}

/** A subscription as one emitting task sees it. */
export class OutgoingSubscription {
  readonly target: ComponentRun;
  readonly anchored: boolean;
  /** The emitting task: its component, its stream and its id. */
  readonly component: string;
  readonly stream: string;
  readonly task: number;
  readonly everyone: boolean;
  readonly interchangeable: boolean;
  /** An emit names the task that gets the tuple. */
  readonly direct: boolean;
  /** The name of the stream to its subscribers: `component.stream`. */
  readonly input: string;
  private readonly emission: Emission;
  private readonly router: Router<TaskSlot>;
  private readonly byIndex: Channel[] = [];
  private readonly run: RunningTopology;

  constructor(subscription: Subscription, emission: Emission, from: TaskSlot, run: RunningTopology) {
    this.target = run.registry.component(subscription.to);
    this.anchored = subscription.anchored;
    this.component = subscription.from;
    this.stream = subscription.stream;
    this.task = from.task;
    this.everyone = subscription.grouping.everyone === true;
    this.interchangeable = subscription.grouping.interchangeable === true;
    this.direct = (subscription.grouping as { readonly direct?: boolean }).direct === true;
    this.input = `${subscription.from}.${subscription.stream}`;
    this.emission = emission;
    this.router = new Router(subscription.grouping, from.index, run.kernel.env);
    this.run = run;
  }

  /** The channel that the grouping chooses for the emission; undefined when no task is to get the tuple. */
  route(): Channel | undefined {
    const chosen = this.choose();
    // When no task runs, the tuple fails on its way to any of them.
    const slot = chosen === UNREACHABLE ? this.target.slots[0] : chosen;
    return slot === undefined ? undefined : this.channel(slot);
  }

  private choose(): TaskSlot | typeof UNREACHABLE | undefined {
    const { target } = this;
    const chosen = this.router.choose(this.emission, target.candidates());
    if (chosen !== undefined && chosen !== UNREACHABLE && (chosen as TaskSlot | null)?.component !== target)
      throw new OptionError(
        `the grouping of ${this.input}`,
        chosen,
        "a function that returns one of the tasks, or undefined",
      );
    return chosen;
  }

  channel(slot: TaskSlot): Channel {
    const known = this.byIndex[slot.index];
    if (known?.slot === slot) return known;
    const channel = new Channel(this, slot, this.run);
    this.byIndex[slot.index] = channel;
    return channel;
  }

  /** For an emit that names a task that is not among the subscribers. */
  deadEnd(): Channel {
    return new DeadEnd(this, this.target.slots[0] as TaskSlot, this.run);
  }

  /**
   * A channel to another task for a tuple that came back. It is called while a process ends, so an error of the grouping is
   * logged and not thrown.
   */
  reroute(tuple: Tuple): Channel | undefined {
    this.emission.payload = tuple.values;
    this.emission.directTask = undefined;
    try {
      const chosen = this.choose();
      return chosen === undefined || chosen === UNREACHABLE ? undefined : this.channel(chosen);
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
}
