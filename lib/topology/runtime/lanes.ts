// The subscriptions that a task emits along, with a lane to each of the tasks at their ends: the way of a tuple.

import { OptionError } from "../../process/errors.js";
import type { Subscription } from "../definition/blueprint.js";
import { textOf } from "../definition/errors.js";
import { EXPIRED_TUPLE, TAKEN, Tuple, WAITING, type Way } from "../definition/tuple.js";
import type { Losses } from "../tracking/losses.js";
import type { InputMeter } from "./metrics.js";
import { type Emission, Router, UNREACHABLE } from "./router.js";
import type { Run } from "./run.js";
import type { ComponentRun, Slot } from "./slot.js";

/** One task at the end of a subscription, for one task that emits. */
export class Lane implements Way {
  readonly slot: Slot;
  /** Counts what the task makes of what it is given along this subscription. */
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

  /** What was lost at its end, for a bolt with windows: of the task, or of all tasks where any will do. */
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
    run.settlements.notify();
  }

  expired(tuple: Tuple): void {
    tuple.state = EXPIRED_TUPLE;
    this.meter.expired++;
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
export class Nowhere extends Lane {
  override send(tuple: Tuple): void {
    tuple.state = TAKEN;
    this.lost(tuple);
  }
}

/** A subscription, for one task that emits along it. */
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

  constructor(subscription: Subscription, emission: Emission, firstTurn: number, run: Run) {
    this.target = run.component(subscription.to);
    this.anchored = subscription.anchored;
    this.stream = subscription.stream;
    this.everyone = subscription.grouping.everyone === true;
    this.interchangeable = subscription.grouping.interchangeable === true;
    this.direct = (subscription.grouping as { readonly direct?: boolean }).direct === true;
    this.input = `${subscription.from}.${subscription.stream}`;
    this.emission = emission;
    this.router = new Router(subscription.grouping, firstTurn, run.kernel.env);
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

  /** For a task that this subscription does not lead to. */
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
