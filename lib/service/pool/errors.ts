// The errors of pools.

import { SignalboxError } from "../../process/errors.js";
import { type ExitReason, formatReason } from "../../process/reason.js";
import { show } from "../../process/show.js";

/**
 * The worker that ran a job ended before the job did. The job may have had effects.
 *
 * @remedy See `reason` for why the worker ended. Allow more attempts (`maxAttempts`) for functions that may run twice.
 */
export class JobLostError extends SignalboxError {
  static override readonly name: string = "JobLostError";
  readonly code = "ERR_JOB_LOST";
  /** The exit reason of the last worker that ran the job. */
  readonly reason: ExitReason;
  /** How many workers ran the job. */
  readonly attempts: number;
  constructor(job: string, reason: ExitReason, attempts: number) {
    super(
      `the job ${job} was lost with its worker (${formatReason(reason)})${inAttempts(attempts)}`,
      reason.type === "crash" ? { cause: reason.error } : undefined,
    );
    this.reason = reason;
    this.attempts = attempts;
  }
}

/**
 * A job ran longer than its deadline. Its worker was killed and replaced.
 *
 * @remedy Look for an endless loop in the function, or raise `deadlineMs`.
 */
export class JobDeadlineError extends SignalboxError {
  static override readonly name: string = "JobDeadlineError";
  readonly code = "ERR_JOB_DEADLINE";
  /** How long each attempt may take, in milliseconds. */
  readonly deadlineMs: number;
  /** How many workers ran the job. */
  readonly attempts: number;
  constructor(job: string, deadlineMs: number, attempts: number) {
    super(`the job ${job} ran longer than ${deadlineMs} ms${inAttempts(attempts)}; its worker was killed`);
    this.deadlineMs = deadlineMs;
    this.attempts = attempts;
  }
}

/**
 * The queue of a pool is full. The job did not run.
 *
 * @remedy Wait for earlier jobs, raise `maxQueue`, or let callers wait for a place with `whenFull: "wait"`.
 */
export class PoolFullError extends SignalboxError {
  static override readonly name: string = "PoolFullError";
  readonly code = "ERR_POOL_FULL";
  /** How many jobs may wait. */
  readonly maxQueue: number;
  constructor(job: string, maxQueue: number) {
    super(`the job ${job} found a full queue: ${maxQueue} jobs wait already`);
    this.maxQueue = maxQueue;
  }
}

/**
 * The pool stops, and starts no more jobs. The job did not run.
 *
 * @remedy Send jobs before the pool stops. With `drain: "all"` a stopping pool runs the jobs that wait.
 */
export class PoolStoppingError extends SignalboxError {
  static override readonly name: string = "PoolStoppingError";
  readonly code = "ERR_POOL_STOPPING";
  constructor(job: string) {
    super(`the job ${job} did not run: the pool stops`);
  }
}

/**
 * The worker file exports no function of this name.
 *
 * @remedy Export the function, and give `pool` the type of the file: `pool<typeof import("./worker.js")>(…)`.
 */
export class UnknownJobError extends SignalboxError {
  static override readonly name: string = "UnknownJobError";
  readonly code = "ERR_UNKNOWN_JOB";
  constructor(file: string, name: string, known: readonly string[]) {
    super(`the worker file ${file} exports no function ${name}; it exports ${known.join(", ")}`);
  }
}

/**
 * An argument or a result cannot be sent to another thread: structured clone refuses functions, symbols, proxies and most
 * objects of the host.
 *
 * @remedy Send plain data; `path` names the part that is none. Put objects that can only move into `transfer`.
 * @see https://developer.mozilla.org/en-US/docs/Web/API/Web_Workers_API/Structured_clone_algorithm
 */
export class NotCloneableError extends SignalboxError {
  static override readonly name: string = "NotCloneableError";
  readonly code = "ERR_NOT_CLONEABLE";
  /** The part that cannot be sent, such as `args[0].items[2].callback` or `result.socket`. */
  readonly path: string;
  constructor(job: string, path: string, cause: unknown) {
    super(`${path} of the job ${job} cannot be sent to another thread: ${show(cause)}`, { cause });
    this.path = path;
  }
}

function inAttempts(attempts: number): string {
  return attempts === 1 ? "" : ` in attempt ${attempts}`;
}
