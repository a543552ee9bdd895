// Helpers that the tasks of spouts and bolts share: the context of their functions, starts and asynchronous steps.

import { type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Process } from "../../process/process.js";
import { crash } from "../../process/reason.js";
import { exitedError } from "../../process/request.js";
import { isThenable } from "../../process/thenable.js";
import type { InitContext } from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { TaskSlot } from "../runtime/task-slots.js";

/** The context of `init`, before there is a state, in our host and in another. */
export function initContext(
  { component, task, index, shared }: Pick<InitContext, "component" | "task" | "index" | "shared">,
  process: Context<never>,
  log: InitContext["log"],
): InitContext {
  return {
    component,
    task,
    index,
    shared,
    process,
    now: () => process.now(),
    random: () => process.random(),
    log,
  };
}

/** The same for a task of a running topology. */
export function slotContext(run: RunningTopology, slot: TaskSlot, ctx: Context<never>): InitContext {
  const { task, index } = slot;
  const { name: component, shared } = slot.component;
  return initContext({ component, task, index, shared }, ctx, (level, line) => {
    if (level === "error") slot.meter.errors++;
    run.log(level, component, task, line);
  });
}

/** The process whose callbacks run with this context. */
export function processOf(ctx: Context<never>): Process {
  const { process } = ctx.self;
  if (process === undefined) throw new Error("the process of a context that is in use has ended");
  return process;
}

/** Calls `next` with a result: at once or, when the result is a promise, when it is resolved. */
export function whenDone<T>(result: unknown, next: (value: unknown) => T): T | Promise<T> {
  return isThenable(result) ? Promise.resolve(result).then(next) : next(result);
}

/** Calls `each` with one item after the other, each time when the promise of the call before is resolved. */
export function inTurn<T>(items: readonly T[], each: (item: T) => unknown, from = 0): unknown {
  for (let at = from; at < items.length; at++) {
    const result = each(items[at] as T);
    if (isThenable(result)) return Promise.resolve(result).then(() => inTurn(items, each, at + 1));
  }
  return undefined;
}

/** Throws when the process has ended: code of a task that goes on after that is stopped here. */
export function refuseDead(process: Process): void {
  if (!process.alive) throw exitedError(process);
}

/** A task ends with a linked process, unless that ended normally. */
export function endWithLinked(signal: Signal): Stop | undefined {
  return signal.type === "exit" && signal.reason.type !== "normal" ? stop(signal.reason) : undefined;
}

/** Runs the start of a task. An error is logged and, when the topology fails because of it, is the topology's reason. */
export function starting(run: RunningTopology, slot: TaskSlot, start: () => unknown): unknown {
  const note = (error: unknown): never => {
    run.lastCrash = crash(error);
    slot.meter.errors++;
    run.log("error", slot.component.name, slot.task, () => `could not start: ${textOf(error)}`);
    throw error;
  };
  run.incarnations.starting(slot);
  try {
    const result = start();
    return isThenable(result) ? result.then(undefined, note) : result;
  } catch (error) {
    return note(error);
  }
}

/**
 * Chooses the tuples that are measured. In the long run their share is the rate. The gaps between them are random, so that
 * a pattern in the tuples does not distort the figures. A rate of 0 chooses none.
 */
export class Sampler {
  private readonly gap: number;
  private left: number;
  private readonly source: { random(): number };

  /** @param rate - the share of tuples, 0 to 1 */
  constructor(rate: number, source: { random(): number }) {
    this.gap = rate <= 0 ? Number.POSITIVE_INFINITY : 1 / rate;
    this.source = source;
    this.left = this.draw();
  }

  /** Whether the next tuple is measured. Call it once for each tuple. */
  due(): boolean {
    if (--this.left > 0) return false;
    this.left += this.draw();
    return true;
  }

  /** From 1 to twice the mean less one. */
  private draw(): number {
    if (this.gap === Number.POSITIVE_INFINITY || this.gap === 1) return this.gap;
    return 1 + this.source.random() * 2 * (this.gap - 1);
  }
}
