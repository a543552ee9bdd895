// A call is a message with a reply. It ends once: by its reply, its timeout, an AbortSignal or the exit of the callee. The
// last three withdraw a request that is still queued, and a late reply is discarded, as with OTP's process aliases.

import { type Abortable, unwatchAbort, watchAbort } from "./abort.js";
import { ContextMessage, Entry, GONE, isEntry, SignalEntry, TaskEntry } from "./entries.js";
import type { Resumption } from "./environment.js";
import {
  CalleeExitedError,
  CallTimeoutError,
  DoubleReplyError,
  LateReplyError,
  OptionError,
  ProcessExitedError,
  type RequestFate,
} from "./errors.js";
import type { InterceptedProcess, Settler } from "./interception.js";
import type { Kernel } from "./kernel.js";
import { exclude, include } from "./one-or-many.js";
import { origin } from "./origin.js";
import type { Pid, RemoteNode } from "./pid.js";
import type { Abandonable, Process } from "./process.js";
import type { ExitReason } from "./reason.js";
import type { ReplyTo } from "./reply-to.js";
import { captureSenderContext } from "./sender-context.js";
import type { SharedState } from "./shared-state.js";
import type { CallOutcome, CallTap } from "./taps.js";
import type { Due, Timer } from "./timer-queue.js";

export type { ReplyTo } from "./reply-to.js";

/** The request as its callee sees it. */
export function replyAddress<R>(request: Request<R>): ReplyTo<R> {
  return request as unknown as ReplyTo<R>;
}

/** The request at a reply address. @throws OptionError */
export function requestOf<R>(to: ReplyTo<R>): Request<R> {
  const request = to as unknown as Request<R> | undefined | null;
  // Every reply passes here, and `withMethod` looks by a name that differs from call to call, which costs more.
  if (typeof request?.answer === "function") return request;
  throw new OptionError("to", to, "a reply address, as the message of a call carries it");
}

/** How a call ended, for callers that do not await it. */
export type Reply<R> =
  | {
      readonly ok: true;
      /** The reply of the callee. */
      readonly value: R;
    }
  | {
      readonly ok: false;
      /** The error with which the call would reject. */
      readonly error: unknown;
    };

/** Options of every call. */
export interface CallOptions {
  /** How many milliseconds to wait for the reply. `Infinity` waits until the callee exits. Default 5,000. */
  readonly timeoutMs?: number;
  /** Ends the wait early; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Whether a request that still waits in the mailbox of the callee is withdrawn when the wait ends early. `false` has the
   * callee handle the request anyway, as in OTP, and its reply is discarded. Default true. To another node the withdrawal has to
   * travel, so the callee may take the request first.
   */
  readonly withdraw?: boolean;
}

/** What a call has at another node: the callee, or the caller. */
export interface FarEnd {
  /** The node of the caller. */
  readonly node: RemoteNode;
  /** The number of the call within that node. */
  readonly ref: number;
  /** The process of another node that made the call. */
  readonly caller: Pid | undefined;
  /** The call has ended here. */
  closed(outcome: CallOutcome, value: unknown): void;
}

/**
 * A call in progress. The request is in the callee's mailbox until it is taken, and in its list of open calls until it
 * ends.
 */
export class Request<R = unknown> extends Entry implements Due, Abandonable, Abortable, Settler, Resumption {
  /** `open`, or how the call ended. */
  private status: CallOutcome | "open" = "open";
  /** Stays in the mailbox of the callee when its wait ends early. */
  declare isKept: boolean;
  /** The callee ended, or was never there, before it took the request. */
  declare isUntaken: boolean;
  message: unknown = undefined;
  callee: Process | undefined = undefined;
  next: Request | undefined = undefined;
  previous: Request | undefined = undefined;
  /** Present in a call that is awaited. */
  promise: Promise<R> | undefined = undefined;
  kernel: Kernel | undefined = undefined;
  owner: Process | undefined = undefined;
  /** For a call without an owner: the process whose code made it. */
  declare waiter: Process | undefined;
  to: Pid | string = "";
  timer: Timer | undefined = undefined;
  timeoutMs = 0;
  declare signal: AbortSignal | undefined;
  /** The ends of the promise, of a call that is awaited. */
  resolve: ((value: unknown) => void) | undefined = undefined;
  reject: ((error: unknown) => void) | undefined = undefined;
  /** The reply or error of a call that has ended: the other end of its promise is gone by then. */
  private ending: unknown = undefined;
  /** Something to do once the call has ended, however it did. */
  declare onClose: ((ok: boolean, value: unknown) => void) | undefined;
  /** Present while the call, or its reply address, is known to another node. */
  away: FarEnd | undefined = undefined;
  private onReply: ((reply: Reply<never>) => unknown) | undefined = undefined;
  /** Telemetry of this call, while it is on. A field, since one that is added later costs a call more than all else here. */
  tap: CallTap | undefined = undefined;

  /** The process that made the call, if it is known. */
  get caller(): Pid | undefined {
    return this.owner?.pid ?? this.away?.caller;
  }

  /** False once the call has ended. */
  get open(): boolean {
    this.kernel?.shared?.object(this, "read");
    return this.status === "open";
  }

  /** Whether the caller gave up, so that the request must not be handled. A call that was replied to is over, and not withdrawn. */
  get isWithdrawn(): boolean {
    this.kernel?.shared?.object(this, "read");
    const status = this.status;
    return !this.isKept && status !== "open" && status !== "replied" && status !== "refused";
  }

  /** A promise of the reply, for code of `owner`. Undefined: for code of no process. */
  await(kernel: Kernel, owner: Process | undefined): Promise<R> {
    const promise = new Promise<R>((resolve, reject) => {
      this.resolve = resolve as (value: unknown) => void;
      this.reject = reject;
    });
    this.promise = promise;
    if (owner !== undefined) origin.settledHere = promise;
    if (kernel.interception !== undefined) {
      this.indirect();
      kernel.interception.gate(owner as InterceptedProcess | undefined, "a call", this);
    }
    return promise;
  }

  /** Lets an interception that replaces the ends of the promise keep its own, while {@link Request.divert} changes the real ones. */
  private indirect(): void {
    const ends: Ends = { resolve: this.resolve as Ends["resolve"], reject: this.reject as Ends["reject"] };
    this.resolve = (value) => ends.resolve(value);
    this.reject = (error) => ends.reject(error);
    indirectEnds.set(this as Request, ends);
  }

  /** Puts code between the reply and the code that awaits it. The call itself stays open. */
  divert(through: (reply: Promise<unknown>) => Promise<unknown>): void {
    const ends = indirectEnds.get(this as Request) ?? (this as unknown as Ends);
    const { resolve } = ends;
    resolve(
      through(
        new Promise<unknown>((fulfil, reject) => {
          ends.resolve = fulfil;
          ends.reject = reject;
        }),
      ),
    );
  }

  /** Has the reply handled by the caller, between its messages. */
  handBack(owner: Process, onReply: (reply: Reply<R>) => unknown): void {
    this.owner = owner;
    this.onReply = onReply as (reply: Reply<never>) => unknown;
  }

  /** For a call without an owner: remembers the process whose code awaits the reply. */
  awaitedBy(waiter: Process): void {
    this.waiter = waiter;
    waiter.extras.calling = include(waiter.extras.calling, this as Request);
  }

  /** Ties the call to its two ends and arms its limits. Called once, before the request is delivered. */
  begin(
    kernel: Kernel,
    owner: Process | undefined,
    to: Pid | string,
    callee: Process | undefined,
    timeoutMs: number,
  ): void {
    this.kernel = kernel;
    kernel.shared?.created(this);
    this.context = captureSenderContext(kernel);
    this.owner = owner;
    this.to = to;
    this.timeoutMs = timeoutMs;
    if (timeoutMs !== Number.POSITIVE_INFINITY) kernel.calls.addTimeout(this as Request);
    // A call to a pid of another node is in a list of its own (remote-calls.ts). What has no callee, such as a dispatch, has a name.
    if (owner !== undefined && (callee !== undefined || typeof to === "string"))
      owner.extras.waits = include(owner.extras.waits, this);
    if (callee !== undefined) {
      this.callee = callee;
      const first = callee.requests;
      this.next = first;
      if (first !== undefined) first.previous = this;
      callee.requests = this;
    }
  }

  /** Lets an AbortSignal end the wait. */
  obey(signal: AbortSignal): void {
    this.signal = signal;
    watchAbort(signal, this);
  }

  /** The reply of the callee. */
  answer(value: R): void {
    if (this.status === "open") this.fulfil(value);
    else this.discard(true, value);
  }

  /** The callee answers with an error. */
  refuse(error: Error): void {
    if (this.status === "open") this.fail(error, "refused");
    else this.discard(false, error);
  }

  /** A reply to a call that has ended is no error for its sender; the system counts the reply and emits an event. */
  private discard(ok: boolean, reply: unknown): void {
    const { kernel, caller, to } = this;
    if (kernel === undefined) return;
    kernel.shared?.object(this, "read");
    const status = this.status;
    const ending = this.ending;
    kernel.discardReply(() => ({
      callee: to,
      caller,
      reply: ok ? { ok, value: reply } : { ok, error: reply },
      error:
        status === "replied" || status === "refused"
          ? new DoubleReplyError(String(to))
          : new LateReplyError(String(to), ending),
    }));
  }

  fulfil(value: R): void {
    if (!this.close("replied", value)) return;
    this.tap?.ended("replied", undefined);
    this.ending = value;
    if (this.resolve !== undefined) {
      this.reject = undefined;
      this.goOn();
    } else this.handleReply();
  }

  fail(error: unknown, outcome: CallOutcome = "refused"): void {
    if (!this.close(outcome, error)) return;
    this.tap?.ended(outcome, error);
    this.ending = error;
    if (this.reject !== undefined) {
      this.resolve = undefined;
      this.goOn();
    } else this.handleReply();
  }

  private goOn(): void {
    if (this.kernel === undefined) this.resume();
    else this.kernel.scheduler.resume(this);
  }

  resume(): void {
    const end = this.resolve ?? this.reject;
    end?.(this.ending);
  }

  /**
   * Queues the reply for the code of the caller. The call itself is the entry, unless it still waits at its callee, or entries are
   * watched, carry contexts, or are counted by their kind: an entry of its own tells a reply from a request there.
   */
  private handleReply(): void {
    const { owner } = this;
    if (owner !== undefined) owner.kernel.shared?.process(owner.pid, "read");
    if (!owner?.alive || this.onReply === undefined) return;
    if (this.queuedIn === undefined && owner.kernel.isPlain && owner.rare?.mailbox === undefined) {
      this.message = undefined;
      owner.deliverSignal(this as Request);
      return;
    }
    owner.deliverSignal(this.replyEntry());
  }

  /** An entry of its own for the reply. */
  replyEntry(): TaskEntry {
    const task = new TaskEntry(() => this.openReply());
    // As after an await: the handler runs in the context of the call, not in that of the reply.
    task.context = this.context;
    task.from = this.callee?.pid;
    return task;
  }

  /** Gives the reply to the code of the caller. */
  openReply(): unknown {
    const ending = this.ending;
    const onReply = this.onReply;
    return onReply?.(
      this.status === "replied" ? { ok: true, value: ending as never } : { ok: false, error: ending },
    );
  }

  /**
   * The callee died, or was never there.
   *
   * @param isTold - its node says whether it had taken the request
   */
  calleeExited(reason: ExitReason, isTold: boolean = this.callee !== undefined): void {
    const isUntaken = this.isUntaken || (reason.type === "noproc" && this.callee === undefined);
    const fate = isUntaken ? "withdrawn" : isTold ? "taken" : "kept";
    this.fail(new CalleeExitedError(String(this.to), reason, fate), "callee-exited");
  }

  /** The timeout. */
  fire(): void {
    this.fail(new CallTimeoutError(String(this.to), this.timeoutMs, this.fate), "timeout");
  }

  /** The fate of the request when its wait ends now. */
  private get fate(): RequestFate {
    if (this.isKept || this.callee === undefined) return "kept";
    return this.queuedIn === undefined || this.queuedIn === GONE ? "taken" : "withdrawn";
  }

  abandon(error: Error, outcome: CallOutcome = "caller-exited"): void {
    this.fail(error, outcome);
  }

  aborted(reason: unknown): void {
    this.abandon(reason as Error, "aborted");
  }

  /** From now on, the deaths of both ends and an abort find nothing to end. */
  private left(shared: SharedState): void {
    if (this.owner !== undefined) shared.process(this.owner.pid, "read");
    if (this.callee !== undefined) shared.process(this.callee.pid, "read");
    if (this.signal !== undefined) shared.signals();
  }

  /** Unties the call from everything. False when it had ended before. */
  private close(outcome: CallOutcome, value: unknown): boolean {
    const shared = this.kernel?.shared;
    shared?.object(this, this.status === "open" ? "write" : "read");
    if (this.status !== "open") return false;
    this.status = outcome;
    if (shared !== undefined) this.left(shared);
    if (this.timer !== undefined) this.kernel?.cancelTimer(this.timer);
    if (this.signal !== undefined) unwatchAbort(this.signal, this);
    const owner = this.owner;
    if (owner?.rare !== undefined) owner.rare.waits = exclude(owner.rare.waits, this);
    const { waiter } = this;
    if (shared !== undefined && (owner ?? waiter) !== undefined)
      shared.waits((owner ?? (waiter as Process)).pid, "write");
    if (waiter?.rare !== undefined) waiter.rare.calling = exclude(waiter.rare.calling, this as Request);
    const callee = this.callee;
    if (callee !== undefined) {
      if (this.previous === undefined) callee.requests = this.next;
      else this.previous.next = this.next;
      if (this.next !== undefined) this.next.previous = this.previous;
      this.next = undefined;
      this.previous = undefined;
    }
    const { queuedIn } = this;
    if (queuedIn !== undefined && queuedIn !== GONE && !this.isKept) {
      queuedIn.withdraw(this);
      this.message = undefined;
    }
    this.away?.closed(outcome, value);
    this.onClose?.(outcome === "replied", value);
    return true;
  }
}

/** Fields that few calls have: a field of the prototype costs the others no memory. */
Object.assign(Request.prototype, {
  isKept: false,
  isUntaken: false,
  waiter: undefined,
  signal: undefined,
  onClose: undefined,
});

/** The ends of a promise. */
interface Ends {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** The ends of promises whose fields in the request have been replaced. */
const indirectEnds = new WeakMap<Request, Ends>();

/** Ends every call that waits for `callee`. */
export function failRequests(callee: Process, reason: ExitReason): void {
  for (let request = callee.requests; request !== undefined; request = callee.requests)
    request.calleeExited(reason);
}

/** The error with which a process's own waits end when it exits. */
export function exitedError(process: Process): ProcessExitedError {
  return new ProcessExitedError(process.pid, process.exitReason ?? { type: "normal" });
}

/** Refusals of one process that come at once: enough for any cleanup. */
const AT_ONCE = 100;

/** The longest that a refusal is put off, in milliseconds. */
const LONGEST_MS = 1_000;

const refusals = new WeakMap<Process, number>();

/**
 * Refuses a request of a process that has ended: at once, or, from the 101st time on, after a wait that grows up to a second. Code that
 * retries after each refusal, as after a transient failure, would otherwise never give the host a turn.
 */
export function refused(process: Process): Promise<never> {
  const count = (refusals.get(process) ?? 0) + 1;
  refusals.set(process, count);
  const error = exitedError(process);
  if (count <= AT_ONCE) return Promise.reject(error);
  return new Promise((_, reject) => {
    process.kernel.addTimer(Math.min(count - AT_ONCE, LONGEST_MS), { fire: () => reject(error) });
  });
}

/** A mailbox entry as the user sees it: the message of a call, a signal, or nothing for a timer's function. */
export function messageOf(entry: unknown): unknown {
  if (!isEntry(entry)) return entry;
  if (entry instanceof Request || entry instanceof ContextMessage) return entry.message;
  return entry instanceof SignalEntry ? entry.signal : undefined;
}
