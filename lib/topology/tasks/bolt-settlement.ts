// How the tuples of one process of a bolt's task are settled, and measured from when the task took them until then.

import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import type { BoltMode } from "../definition/component.js";
import { BoltModeError, SettledError } from "../definition/errors.js";
import { EXPIRED, FAILED, TAKEN, type Tuple } from "../definition/tuple.js";
import type { Channel } from "../runtime/channels.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { Incarnation, TaskSlot } from "../runtime/task-slots.js";
import { refuseDead, Sampler } from "./task.js";

export class BoltSettlement {
  private readonly run: RunningTopology;
  private readonly incarnation: Incarnation;
  private readonly slot: TaskSlot;
  private readonly mode: BoltMode;
  private readonly clock: Context<never>;
  private readonly sampler: Sampler;

  constructor(run: RunningTopology, incarnation: Incarnation, mode: BoltMode, clock: Context<never>) {
    this.run = run;
    this.incarnation = incarnation;
    this.slot = incarnation.slot;
    this.mode = mode;
    this.clock = clock;
    this.sampler = new Sampler(incarnation.slot.component.plan.config.sampleRate, clock);
  }

  /** The task takes a tuple to work on it. */
  taken(tuple: Tuple): void {
    tuple.state = TAKEN;
    (tuple.channel as Channel).meter.executed++;
    if (this.sampler.due()) tuple.takenAt = this.clock.now();
  }

  /** The trees of the tuple have expired: no bolt works on it. */
  discard(tuple: Tuple): void {
    tuple.state = FAILED;
    (tuple.channel as Channel).meter.expired++;
    this.run.settlements.notify();
  }

  /** The function has ended. Returns the time, if the latency of the tuple is measured. */
  executed(tuple: Tuple): number | undefined {
    if (tuple.takenAt === undefined) return undefined;
    const now = this.clock.now();
    (tuple.channel as Channel).meter.execute.record(now - tuple.takenAt, now);
    return now;
  }

  /** @param now - the time, if it was read just before */
  settle(tuple: Tuple, good: boolean, now: number | undefined): void {
    const { meter } = tuple.channel as Channel;
    if (good) {
      meter.acked++;
      this.run.acking.ack(tuple);
    } else {
      meter.failed++;
      this.run.acking.fail(tuple);
    }
    if (tuple.takenAt !== undefined) {
      const end = now ?? this.clock.now();
      meter.process.record(end - tuple.takenAt, end);
    }
    this.run.settlements.notify();
  }

  /** The bolt itself settles a tuple that it holds. @throws BoltModeError, SettledError */
  settleHeld(tuple: Tuple, good: boolean): void {
    const { incarnation, slot, mode } = this;
    refuseDead(incarnation.process);
    if (mode !== "manual") throw new BoltModeError(slot.component.name, slot.task, mode);
    if (tuple?.state === EXPIRED) return;
    if (!incarnation.tuples.held.delete(tuple)) throw this.settledError(tuple);
    this.settle(tuple, good, undefined);
  }

  /** Restarts the message timeout of a tuple. False when it has expired. @throws OptionError, SettledError */
  extend(tuple: Tuple | undefined): tuple is Tuple {
    refuseDead(this.incarnation.process);
    if (tuple === undefined)
      throw new OptionError("extend(tuple)", tuple, "a tuple, since none is at hand just now");
    if (tuple.state === EXPIRED) return false;
    if (tuple.state !== TAKEN) throw this.settledError(tuple);
    this.run.acking.extend(tuple);
    return true;
  }

  private settledError(tuple: Tuple): SettledError {
    const { component, task } = this.slot;
    return new SettledError(component.name, task, `${tuple?.component}.${tuple?.stream}`);
  }
}
