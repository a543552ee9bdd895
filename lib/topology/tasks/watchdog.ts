// Ends a task that hangs: a timer for a promise of the task's code. Timers of `ctx.process` fire between tuples, and so never
// in a task that waits for such a promise.

import { exclude } from "../../process/one-or-many.js";
import { OwnedTimer } from "../../process/owned-timer.js";
import type { Process } from "../../process/process.js";
import { isThenable } from "../../process/thenable.js";
import { ExecuteTimeoutError } from "../definition/errors.js";
import type { Tuple } from "../definition/tuple.js";

/** Crashes its process with an error unless it is cancelled in time. It ends with the process. */
export class Watchdog extends OwnedTimer {
  readonly #process: Process;
  readonly #errorOf: () => Error;

  constructor(process: Process, ms: number, errorOf: () => Error) {
    super(process.kernel, process, { run: () => undefined }, ms);
    this.#process = process;
    this.#errorOf = errorOf;
  }

  override fire(): void {
    this.#process.timers = exclude(this.#process.timers, this);
    this.#process.failed(this.#errorOf(), undefined);
  }
}

/** Limits the time of each piece of work of a task by `executeTimeoutMs`. A key of type `K` identifies the work. */
export class Timing<K> {
  readonly #process: Process;
  readonly #component: string;
  readonly #task: number;
  readonly #ms: number | undefined;
  readonly #work = new Map<K, Work>();
  /** Work that waits for buffer space. The wait does not count. */
  readonly #paused = new Set<K>();

  constructor(process: Process, component: string, task: number, executeTimeoutMs: number | undefined) {
    this.#process = process;
    this.#component = component;
    this.#task = task;
    this.#ms = executeTimeoutMs;
  }

  /** Returns the result of a bolt's function. When it is a promise, the task crashes if it does not settle in time. */
  timed<R>(result: R, what: Tuple | string, key: K): R {
    const ms = this.#ms;
    if (ms === undefined || !isThenable(result)) return result;
    const work: Work = { what, watchdog: undefined };
    this.#work.set(key, work);
    if (!this.#paused.has(key)) this.#start(work, ms);
    const over = (): void => {
      work.watchdog?.cancel();
      if (this.#work.get(key) === work) this.#work.delete(key);
    };
    result.then(over, over);
    return result;
  }

  pause(key: K): void {
    this.#paused.add(key);
    this.#work.get(key)?.watchdog?.cancel();
  }

  /** The wait for buffer space is over: the work has its full time again. */
  goOn(key: K): void {
    this.#paused.delete(key);
    this.restart(key);
  }

  /** The work has its full time from now on. */
  restart(key: K): void {
    const work = this.#work.get(key);
    if (work === undefined || this.#ms === undefined || this.#paused.has(key)) return;
    work.watchdog?.cancel();
    this.#start(work, this.#ms);
  }

  #start(work: Work, ms: number): void {
    const { what } = work;
    work.watchdog = new Watchdog(this.#process, ms, () => {
      const text = typeof what === "string" ? what : `a tuple of ${what.component}.${what.stream}`;
      return new ExecuteTimeoutError(this.#component, this.#task, text, ms);
    });
  }
}

interface Work {
  readonly what: Tuple | string;
  watchdog: Watchdog | undefined;
}

/** As {@link Timing.timed}, for one piece of work that never waits for buffer space. */
export function timed<R>(
  process: Process,
  { component, task }: { readonly component: string; readonly task: number },
  executeTimeoutMs: number | undefined,
  result: R,
  work: Tuple | string,
): R {
  return new Timing(process, component, task, executeTimeoutMs).timed(result, work, undefined);
}
