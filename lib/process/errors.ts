// Errors are part of the API: each has a stable `code`, and says what was wrong, where, and what would have been right.

import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";
import { formatReason, show } from "./show.js";

/** Base of every error signalbox raises. Match on {@link SignalboxError.code}, which never changes; texts may. */
export abstract class SignalboxError extends Error {
  /** Each class states its own name, because a minifier renames classes but does not touch strings. */
  static override readonly name: string = "SignalboxError";
  abstract readonly code: string;
  override get name(): string {
    return this.constructor.name;
  }
}

/** An option or argument is not what it has to be. Names the path, the value found and what is allowed. */
export class OptionError extends SignalboxError {
  static override readonly name: string = "OptionError";
  readonly code = "ERR_OPTION";
  readonly path: string;
  readonly value: unknown;
  constructor(path: string, value: unknown, allowed: string) {
    super(`${path} must be ${allowed}; got ${show(value)}`);
    this.path = path;
    this.value = value;
  }
}

/** The process behind this `ctx` has ended: a late continuation asked for an effect, and it was refused. */
export class ProcessExitedError extends SignalboxError {
  static override readonly name: string = "ProcessExitedError";
  readonly code = "ERR_PROCESS_EXITED";
  readonly pid: Pid;
  readonly reason: ExitReason;
  constructor(pid: Pid, reason: ExitReason) {
    super(`${pid} has exited (${formatReason(reason)}); nothing can be done in its name any more`);
    this.pid = pid;
    this.reason = reason;
  }
}

/** A `receive` waited for its whole timeout. Uncaught, it ends the process, which is what most processes want. */
export class ReceiveTimeoutError extends SignalboxError {
  static override readonly name: string = "ReceiveTimeoutError";
  readonly code = "ERR_RECEIVE_TIMEOUT";
  readonly timeoutMs: number;
  constructor(pid: Pid, timeoutMs: number) {
    super(`${pid} received no matching message within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/** A process asked for a second message while it still waited for one. */
export class ReceiveBusyError extends SignalboxError {
  static override readonly name: string = "ReceiveBusyError";
  readonly code = "ERR_RECEIVE_BUSY";
  constructor(pid: Pid) {
    super(`${pid} already waits in a receive; await that one before the next`);
  }
}

/** A call got no reply in time. The request is withdrawn if it still waits; a late reply is dropped. */
export class CallTimeoutError extends SignalboxError {
  static override readonly name: string = "CallTimeoutError";
  readonly code = "ERR_CALL_TIMEOUT";
  readonly timeoutMs: number;
  constructor(to: string, timeoutMs: number) {
    super(
      `${to} did not reply within ${timeoutMs} ms; the request is withdrawn and a late reply will be dropped`,
    );
    this.timeoutMs = timeoutMs;
  }
}

/** The callee ended before it replied, or was not there. `reason` is its exit reason; `cause` the Error it died of. */
export class CalleeExitedError extends SignalboxError {
  static override readonly name: string = "CalleeExitedError";
  readonly code = "ERR_CALLEE_EXITED";
  readonly reason: ExitReason;
  constructor(to: string, reason: ExitReason) {
    super(
      `${to} ended before it replied: ${formatReason(reason)}`,
      reason.type === "crash" ? { cause: reason.error } : undefined,
    );
    this.reason = reason;
  }
}

/** A process called itself and would have waited for its own reply. */
export class CallSelfError extends SignalboxError {
  static override readonly name: string = "CallSelfError";
  readonly code = "ERR_CALL_SELF";
  constructor(pid: Pid) {
    super(
      `${pid} called itself; it would wait for its own reply. Do the work directly, or send itself a message`,
    );
  }
}

/** A bounded mailbox was full and its policy is `reject`. Nothing was queued. */
export class MailboxFullError extends SignalboxError {
  static override readonly name: string = "MailboxFullError";
  readonly code = "ERR_MAILBOX_FULL";
  readonly capacity: number;
  constructor(to: Pid, capacity: number) {
    super(
      `the mailbox of ${to} holds ${capacity} messages, its capacity; slow down, or choose another overflow policy`,
    );
    this.capacity = capacity;
  }
}

/** `register` could not give the name: it is held by another process, or the process has a name already. */
export class NameTakenError extends SignalboxError {
  static override readonly name: string = "NameTakenError";
  readonly code = "ERR_NAME_TAKEN";
  constructor(name: string, holder: Pid, why: "held" | "has-name", held?: string) {
    super(
      why === "held"
        ? `the name "${name}" is held by ${holder}; unregister it first or choose another`
        : `${holder} already has the name "${held}"; a process has one name at most`,
    );
  }
}

/** The target cannot be registered, joined or asked, because it is not running in this system. */
export class NoProcessError extends SignalboxError {
  static override readonly name: string = "NoProcessError";
  readonly code = "ERR_NO_PROCESS";
  constructor(what: string, node: string) {
    super(`${what} is not a running process of ${node}`);
  }
}

/** The process did not come up: its `init` threw, exited, timed out or asked to be ignored. */
export class StartError extends SignalboxError {
  static override readonly name: string = "StartError";
  readonly code = "ERR_START";
  readonly reason: ExitReason;
  constructor(what: string, reason: ExitReason) {
    super(
      `${what} did not start: ${formatReason(reason)}`,
      reason.type === "crash" ? { cause: reason.error } : undefined,
    );
    this.reason = reason;
  }
}

/** The system has been stopped; it starts no processes and takes no calls any more. */
export class SystemStoppedError extends SignalboxError {
  static override readonly name: string = "SystemStoppedError";
  readonly code = "ERR_SYSTEM_STOPPED";
  constructor(node: string) {
    super(`the system ${node} is stopped; create a new System`);
  }
}

/** `receive` was called by a process made from callbacks, whose `handle` is given its messages. */
export class NotABodyError extends SignalboxError {
  static override readonly name: string = "NotABodyError";
  readonly code = "ERR_NOT_A_BODY";
  constructor(pid: Pid) {
    super(
      `${pid} is made from callbacks: its messages come to \`handle\`, its signals to \`signal\`. Only a function body receives`,
    );
  }
}

/** `ask` was called by a function body, which has no "between messages": it awaits `ctx.call` instead. */
export class NotCallbacksError extends SignalboxError {
  static override readonly name: string = "NotCallbacksError";
  readonly code = "ERR_NOT_CALLBACKS";
  constructor(pid: Pid) {
    super(
      `${pid} is made from a function body: await ctx.call(…). Only callbacks get replies between their messages`,
    );
  }
}

/** Something other than an Error was thrown; `cause` is what it was. */
export class ThrownValueError extends SignalboxError {
  static override readonly name: string = "ThrownValueError";
  readonly code = "ERR_THROWN_VALUE";
  constructor(value: unknown) {
    super(`a value that is no Error was thrown: ${show(value)}`, { cause: value });
  }
}

/** Something holds no more that signalbox relies on: a bug of signalbox, never of its user. Please report it with its stack. */
export class InvariantError extends SignalboxError {
  static override readonly name: string = "InvariantError";
  readonly code = "ERR_INVARIANT";
  /** The rule that is broken. */
  readonly invariant: string;
  constructor(invariant: string) {
    super(`a bug in signalbox broke this rule: ${invariant}. Please report it with the stack trace`);
    this.invariant = invariant;
  }
}
