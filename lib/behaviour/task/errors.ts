// Errors of tasks.

import { SignalboxError } from "../../process/errors.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason } from "../../process/reason.js";

/**
 * A task ended without a value: it crashed, was killed or stopped, or exited by itself. `reason` is its exit reason, and
 * `cause` the Error of a crash.
 *
 * @remedy Match on `reason`, or look at `cause`: the error that the function of the task threw.
 */
export class TaskExitedError extends SignalboxError {
  static override readonly name: string = "TaskExitedError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_TASK_EXITED";
  /** The exit reason of the task. */
  readonly reason: ExitReason;

  /** The library creates these errors. */
  constructor(task: Pid, reason: ExitReason) {
    super(
      `${task} ended without a value: ${formatReason(reason)}`,
      reason.type === "crash" ? { cause: reason.error } : undefined,
    );
    this.reason = reason;
  }
}

/**
 * A task had no value within its time. It was killed, unless the wait said `onTimeout: "leave"`.
 *
 * @remedy Raise `timeoutMs`, or pass `ctx.signal` of the task on, so that slow requests end with the task.
 */
export class TaskTimeoutError extends SignalboxError {
  static override readonly name: string = "TaskTimeoutError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_TASK_TIMEOUT";
  /** The time that the task had, in milliseconds. */
  readonly timeoutMs: number;

  /** The library creates these errors. */
  constructor(task: Pid, timeoutMs: number, killed: boolean) {
    super(`${task} had no value within ${timeoutMs} ms; it ${killed ? "was killed" : "still runs"}`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * A process waited for a task, or a stream, of another owner. Its end would not end the task.
 *
 * @remedy Wait in the process that started the task, and send the value on.
 */
export class TaskOwnerError extends SignalboxError {
  static override readonly name: string = "TaskOwnerError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_TASK_OWNER";

  /** The library creates these errors. */
  constructor(what: string, owner: string, other: string) {
    super(`${what} belongs to ${owner}, and ${other} cannot wait for it; let the owner wait`);
  }
}

/**
 * A task was awaited a second time. Its value is handed out once.
 *
 * @remedy Keep the promise of the first `value` or `result`, and await that promise as often as you like.
 */
export class TaskAwaitedError extends SignalboxError {
  static override readonly name: string = "TaskAwaitedError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_TASK_AWAITED";

  /** The library creates these errors. */
  constructor(task: Pid) {
    super(`${task} was awaited before; keep the promise of the first wait`);
  }
}

/**
 * A task supervisor starts no more tasks: `maxTasks` run already, or it is shutting down.
 *
 * @remedy Wait for a task to end, or raise `maxTasks`.
 */
export class TaskRefusedError extends SignalboxError {
  static override readonly name: string = "TaskRefusedError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_TASK_REFUSED";
  /** Why no task was started. */
  readonly problem: "max_tasks" | "closing";

  /** The library creates these errors. */
  constructor(supervisor: Pid, problem: "max_tasks" | "closing") {
    super(
      `${supervisor} starts no task: ${problem === "closing" ? "it is shutting down" : "maxTasks run already"}`,
    );
    this.problem = problem;
  }
}
