// What spouts and bolts have in common when they run: the context that their functions are given, and their ends.

import type { Context } from "../../process/context.js";
import type { Process } from "../../process/process.js";
import { crash } from "../../process/reason.js";
import { exitedError } from "../../process/request.js";
import { isThenable } from "../../process/thenable.js";
import type { InitContext, LogLevel } from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { TaskSlot } from "../runtime/task-slots.js";

/** What a function of a component knows before there is a state. */
export function initContext(run: RunningTopology, slot: TaskSlot, ctx: Context<never>): InitContext {
  const component = slot.component.name;
  return {
    component,
    task: slot.task,
    index: slot.index,
    shared: slot.component.shared,
    process: ctx,
    now: () => ctx.now(),
    random: () => ctx.random(),
    log: (level: LogLevel, line: string | (() => string)) => {
      if (level === "error") slot.meter.errors++;
      run.log(level, component, slot.task, line);
    },
  };
}

/** The process whose callbacks run with this context. */
export function processOf(ctx: Context<never>): Process {
  const { process } = ctx.self;
  if (process === undefined) throw new Error("the process of a context that is in use has ended");
  return process;
}

/** Calls the second when the first, which may be a promise, is done: at once, if it is none. */
export function whenDone<T>(result: unknown, next: (value: unknown) => T): T | Promise<T> {
  return isThenable(result) ? Promise.resolve(result).then(next) : next(result);
}

/** Runs functions one after the other, each when what the one before returned is done. */
export function inTurn<T>(items: readonly T[], each: (item: T) => unknown, from = 0): unknown {
  for (let at = from; at < items.length; at++) {
    const result = each(items[at] as T);
    if (isThenable(result)) return Promise.resolve(result).then(() => inTurn(items, each, at + 1));
  }
  return undefined;
}

/** Code of a task that goes on after its process has ended is stopped here. */
export function refuseDead(process: Process): void {
  if (!process.alive) throw exitedError(process);
}

/** Runs the start of a task. When that throws, the log says so, and it is why the topology fails, if it does. */
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
 * Says which tuples are measured: as many as the rate wants, in the long run, at gaps that chance varies, so that no
 * pattern of the tuples themselves is taken for the whole. None with 0.
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

  /** Whether the next tuple is one of them. To be asked once for each. */
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
