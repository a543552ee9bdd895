// What ends a task that hangs: a timer for a promise of its own code. Timers of `ctx.process` are due between tuples, so a
// task that awaits something would never come to them.

import { exclude } from "../process/one-or-many.js";
import { isThenable, type Process } from "../process/process.js";
import { OwnedTimer } from "../process/timer.js";
import { ExecuteTimeoutError } from "./errors.js";
import type { Tuple } from "./tuple.js";

/** Crashes its process with an error when it is not cancelled in time. Ends with the process. */
export class Watchdog extends OwnedTimer {
  private readonly process: Process;
  private readonly errorOf: () => Error;

  constructor(process: Process, ms: number, errorOf: () => Error) {
    super(process.kernel, process, { run: () => undefined }, ms);
    this.process = process;
    this.errorOf = errorOf;
  }

  override fire(): void {
    this.process.timers = exclude(this.process.timers, this);
    this.process.failed(this.errorOf(), undefined);
  }
}

/** The same promise, watched over: its process crashes unless it is settled within so many milliseconds. */
export function watched<T>(
  process: Process,
  promise: PromiseLike<T>,
  ms: number,
  errorOf: () => Error,
): PromiseLike<T> {
  const watchdog = new Watchdog(process, ms, errorOf);
  return promise.then(
    (value) => {
      watchdog.cancel();
      return value;
    },
    (error) => {
      watchdog.cancel();
      throw error;
    },
  );
}

/**
 * What a bolt's function returned: if that is awaited, it has the time of `executeTimeout`, if there is one. After that,
 * the task crashes.
 */
export function timed<R>(
  process: Process,
  { component, task }: { readonly component: string; readonly task: number },
  executeTimeout: number | undefined,
  result: R,
  work: Tuple | string,
): R {
  if (executeTimeout === undefined || !isThenable(result)) return result;
  const error = (): Error => {
    const what = typeof work === "string" ? work : `a tuple of ${work.component}.${work.stream}`;
    return new ExecuteTimeoutError(component, task, what, executeTimeout);
  };
  return watched(process, result, executeTimeout, error) as R;
}
