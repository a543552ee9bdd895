// Errors are part of the API: each has a stable `code`, and says what was wrong, where, and what would have been right.

import type { ExitReason } from "./exit-reason.js";
import type { Pid } from "./pid.js";
import { formatReason, show } from "./show.js";

/** Base of every error signalbox raises. Match on {@link SignalboxError.code}, which never changes; texts may. */
export abstract class SignalboxError extends Error {
  /** Each class states its own name, because a minifier renames classes but does not touch strings. */
  static override readonly name: string = "SignalboxError";
  /** Names the class of the error: `ERR_` and a word. It never changes; docs/errors.md lists all codes. */
  abstract readonly code: string;
  /** The name of the class, also after a minifier has renamed the class. */
  override get name(): string {
    return this.constructor.name;
  }
}

/**
 * An option or argument has a value that is not allowed. The error names the path, the value and the
 * allowed values.
 *
 * @remedy Correct the option at `path`; the message says what is allowed.
 */
export class OptionError extends SignalboxError {
  static override readonly name: string = "OptionError";
  readonly code = "ERR_OPTION";
  /** The name of the option or argument, or a path to the wrong part, such as `children[0]`. */
  readonly path: string;
  /** The value that is not allowed. */
  readonly value: unknown;
  /** The allowed values, in words. */
  readonly allowed: string;
  constructor(path: string, value: unknown, allowed: string) {
    super(`${path} must be ${allowed}; got ${show(value)}`);
    this.path = path;
    this.value = value;
    this.allowed = allowed;
  }
}

/**
 * The process of this `ctx` has ended. A continuation that woke up later tried to act in its name.
 *
 * @remedy Await work before the process ends, or watch `ctx.signal` and stop when it is aborted.
 */
export class ProcessExitedError extends SignalboxError {
  static override readonly name: string = "ProcessExitedError";
  readonly code = "ERR_PROCESS_EXITED";
  /** The process that has exited. */
  readonly pid: Pid;
  /** The exit reason of the process. */
  readonly reason: ExitReason;
  constructor(pid: Pid, reason: ExitReason) {
    super(`${pid} has exited (${formatReason(reason)}); it can do nothing any more`);
    this.pid = pid;
    this.reason = reason;
  }
}

/**
 * A `receive` got no matching message within its timeout. Uncaught, the error ends the process, and for
 * most processes that is right.
 *
 * @remedy Catch it to go on without the message, or raise `timeoutMs`.
 */
export class ReceiveTimeoutError extends SignalboxError {
  static override readonly name: string = "ReceiveTimeoutError";
  readonly code = "ERR_RECEIVE_TIMEOUT";
  /** The timeout of the `receive`, in milliseconds. */
  readonly timeoutMs: number;
  constructor(pid: Pid, timeoutMs: number) {
    super(`${pid} received no matching message within ${timeoutMs} ms`);
    this.timeoutMs = timeoutMs;
  }
}

/**
 * A process called `receive` while an earlier `receive` was still waiting.
 *
 * @remedy Await the first `receive` before the next.
 */
export class ReceiveBusyError extends SignalboxError {
  static override readonly name: string = "ReceiveBusyError";
  readonly code = "ERR_RECEIVE_BUSY";
  constructor(pid: Pid) {
    super(`${pid} already waits in a receive; await that one before the next`);
  }
}

/**
 * What became of the request of a call whose wait ended early: `withdrawn` while it waited, so that the callee never handles it;
 * `taken` by the callee before, which may have done the work; or `kept`: the callee may have handled it, or may still do
 * so, with `withdraw: false`, or at another node, where that is not known.
 */
export type RequestFate = "withdrawn" | "taken" | "kept";

const FATES: { readonly [fate in RequestFate]: string } = {
  withdrawn: "the request is withdrawn and will not be handled",
  taken: "the request is being handled, and a late reply will be dropped",
  kept: "the callee may have the request: it may still be handled, and a late reply will be dropped",
};

/**
 * A call got no reply in time. A request that still waits is withdrawn, wherever it waits; `request` says what became of it. A
 * late reply is discarded.
 *
 * @remedy Raise `timeoutMs`, or find out why the callee is slow: `system.info(pid)` shows its queue. Unless `request` is
 * `withdrawn`, the callee may have done the work, so repeat only requests that may be repeated.
 */
export class CallTimeoutError extends SignalboxError {
  static override readonly name: string = "CallTimeoutError";
  readonly code = "ERR_CALL_TIMEOUT";
  /** The timeout of the call, in milliseconds. */
  readonly timeoutMs: number;
  /** The fate of the request. */
  readonly request: RequestFate;
  constructor(to: string, timeoutMs: number, request: RequestFate) {
    super(`${to} did not reply within ${timeoutMs} ms; ${FATES[request]}`);
    this.timeoutMs = timeoutMs;
    this.request = request;
  }
}

/**
 * The callee ended before it replied, or did not run at all. `reason` is its exit reason, and `cause` the
 * Error of a crash. `request` says whether the callee may have done the work.
 *
 * @remedy Match on `reason`. A supervisor restarts a crashed callee: call again when `request` is `withdrawn`, or when the request
 * may be repeated.
 */
export class CalleeExitedError extends SignalboxError {
  static override readonly name: string = "CalleeExitedError";
  readonly code = "ERR_CALLEE_EXITED";
  /** The exit reason of the callee; `noproc` when the callee did not run at all. */
  readonly reason: ExitReason;
  /** `withdrawn`: the callee never began with the request. `taken`: it had. `kept`: that is not known. */
  readonly request: RequestFate;
  /** The callee, as in the text: its pid, name or address. */
  readonly callee: string;
  constructor(to: string, reason: ExitReason, request: RequestFate = "kept") {
    super(
      `${to} ended before it replied: ${formatReason(reason)}`,
      reason.type === "crash" ? { cause: reason.error } : undefined,
    );
    this.reason = reason;
    this.request = request;
    this.callee = to;
  }
}

/**
 * A callee replied to a call that it had answered before. The first reply counts, and this one is discarded.
 * The event `discardedReply` carries it; it is never thrown.
 *
 * @remedy Find the second reply with the stack of the error. `open` of the caller is false once the call is
 * answered.
 */
export class DoubleReplyError extends SignalboxError {
  static override readonly name: string = "DoubleReplyError";
  readonly code = "ERR_DOUBLE_REPLY";
  /** The pid or the name to which the call was made. */
  readonly callee: string;
  constructor(callee: string) {
    super(`${callee} replied a second time to one call; the first reply counts, and this one is discarded`);
    this.callee = callee;
  }
}

/**
 * A callee replied to a call whose caller waits no more: it timed out, was aborted or exited. The reply is
 * discarded, and `cause` says how the wait ended. The event `discardedReply` carries it; it is never thrown.
 *
 * @remedy Nothing, if it is rare. Otherwise give callers more time, or look at `open` of the caller before
 * the work.
 */
export class LateReplyError extends SignalboxError {
  static override readonly name: string = "LateReplyError";
  readonly code = "ERR_LATE_REPLY";
  /** The pid or the name to which the call was made. */
  readonly callee: string;
  constructor(callee: string, ending: unknown) {
    super(`${callee} replied after the caller had stopped waiting; the reply is discarded`, {
      cause: ending,
    });
    this.callee = callee;
  }
}

/**
 * A process called itself and would have waited for its own reply.
 *
 * @remedy Do the work directly, or send a message to `ctx.self` and handle it later.
 */
export class CallSelfError extends SignalboxError {
  static override readonly name: string = "CallSelfError";
  readonly code = "ERR_CALL_SELF";
  constructor(pid: Pid) {
    super(
      `${pid} called itself; it would wait for its own reply. Do the work directly, or send itself a message`,
    );
  }
}

/**
 * A call would have closed a circle of processes that wait for each other's replies: none of them could ever answer. The
 * request was withdrawn. `cycle` names the calls of the circle, this one last.
 *
 * @remedy Break the circle: have one process answer without the other, pass on in the request what the callee would ask for, or
 * make one of the calls with `ctx.ask` or a deferred reply, which leave the caller free to answer.
 */
export class CallCycleError extends SignalboxError {
  static override readonly name: string = "CallCycleError";
  readonly code = "ERR_CALL_CYCLE";
  /** The calls of the circle. Each process waits for the next one, the last for the first. */
  readonly cycle: readonly CycleCall[];
  constructor(cycle: readonly CycleCall[]) {
    const waits = cycle.map(
      ({ from, to, method }) => `${from} waits for ${method === undefined ? "" : `${method} of `}${to}`,
    );
    super(`these processes would wait for each other forever: ${waits.join(", ")}`);
    this.cycle = cycle;
  }
}

/** One call of a circle of calls. */
export interface CycleCall {
  /** The process that waits for the reply. */
  readonly from: Pid;
  /** The process that would have to reply. */
  readonly to: Pid;
  /** The method, if the callee is a server. */
  readonly method: string | undefined;
}

/**
 * A bounded mailbox was full, and its policy is `reject`. The message was not queued.
 *
 * @remedy Slow the sender down, raise the capacity, or choose another overflow policy.
 */
export class MailboxFullError extends SignalboxError {
  static override readonly name: string = "MailboxFullError";
  readonly code = "ERR_MAILBOX_FULL";
  /** How many messages the mailbox may hold, 1 or more. */
  readonly capacity: number;
  /** @param whose - said of the messages where the bound is that of each sender */
  constructor(to: Pid, capacity: number, whose = "") {
    super(
      `the mailbox of ${to} holds ${capacity} messages${whose}, its capacity; slow down, or choose another overflow policy`,
    );
    this.capacity = capacity;
  }
}

/**
 * `register` could not give the name: another process holds it, or this process already has a name.
 *
 * @remedy Unregister the holder first, or choose another name. `system.whereis(name)` finds the holder.
 */
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

/**
 * The address is not a running process of this system, so that it cannot be registered, joined or asked.
 *
 * @remedy Start the process first. Use a name instead of a pid where a supervisor may restart the process.
 */
export class NoProcessError extends SignalboxError {
  static override readonly name: string = "NoProcessError";
  readonly code = "ERR_NO_PROCESS";
  constructor(what: string, node: string) {
    super(`${what} is not a running process of ${node}`);
  }
}

/**
 * A process did not start: its `init` threw, exited, timed out or returned ignore. `reason` says which.
 *
 * @remedy Mend `init`, or raise `timeoutMs` of the start.
 */
export class StartError extends SignalboxError {
  static override readonly name: string = "StartError";
  readonly code = "ERR_START";
  /** The exit reason of the process; `shutdown` with a detail when `init` took too long or returned `ignore`. */
  readonly reason: ExitReason;
  /** Whether `init` returned `ignore`: there was nothing to run, and nothing is wrong. */
  readonly ignored: boolean;
  constructor(what: string, reason: ExitReason, ignored = false) {
    super(
      `${what} did not start: ${formatReason(reason)}`,
      reason.type === "crash" ? { cause: reason.error } : undefined,
    );
    this.reason = reason;
    this.ignored = ignored;
  }
}

/**
 * The system has been stopped. It starts no processes and takes no calls.
 *
 * @remedy Create a new System, or stop later.
 */
export class SystemStoppedError extends SignalboxError {
  static override readonly name: string = "SystemStoppedError";
  readonly code = "ERR_SYSTEM_STOPPED";
  constructor(node: string) {
    super(`the system ${node} is stopped; create a new System`);
  }
}

/**
 * A process made from callbacks called `receive`. Its messages go to `handle`.
 *
 * @remedy Handle the message in `handle`, or write the process as a function body.
 */
export class NotABodyError extends SignalboxError {
  static override readonly name: string = "NotABodyError";
  readonly code = "ERR_NOT_A_BODY";
  constructor(pid: Pid) {
    super(
      `${pid} is made from callbacks: its messages come to \`handle\`, its signals to \`signal\`. Only a function body receives`,
    );
  }
}

/**
 * A function body called `ask`, which delivers a reply between messages, or made a stash. A body has no such moment.
 *
 * @remedy Await `ctx.call` in a body, and receive selectively.
 */
export class NotCallbacksError extends SignalboxError {
  static override readonly name: string = "NotCallbacksError";
  readonly code = "ERR_NOT_CALLBACKS";
  constructor(pid: Pid, what?: "a stash") {
    super(
      what === undefined
        ? `${pid} is made from a function body: await ctx.call(…). Only callbacks get replies between their messages`
        : `${pid} is made from a function body: receive selectively. Only callbacks need ${what}`,
    );
  }
}

/**
 * The host lacks a module of Node. A browser, for instance, starts no other programs and has no worker threads of Node.
 *
 * @remedy Run this part of the program on Node: isolated routing functions, or components in other languages.
 */
export class HostModuleError extends SignalboxError {
  static override readonly name: string = "HostModuleError";
  readonly code = "ERR_HOST_MODULE";
  constructor(module: string) {
    super(`${module} is needed here, and this host does not have it; run this part of the program on Node`);
  }
}

/**
 * Code threw a value that is not an Error. `cause` is the value.
 *
 * @remedy Throw an Error, so that its stack shows where it came from.
 */
export class ThrownValueError extends SignalboxError {
  static override readonly name: string = "ThrownValueError";
  readonly code = "ERR_THROWN_VALUE";
  constructor(value: unknown) {
    super(`a value that is not an Error was thrown: ${show(value)}`, { cause: value });
  }
}

/**
 * A rule that signalbox relies on does not hold. This is a bug of signalbox, never of its user.
 *
 * @remedy Please report the error with its stack and, under the simulator, with the token.
 */
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
