// A call: a message with a reply to it. It ends once, by its reply, its timeout, an AbortSignal or the callee's death;
// the last three withdraw the request if it still waits, and a late reply is dropped, as with OTP's process aliases.

import { Entry } from "./entries.js";
import { CalleeExitedError, CallTimeoutError, ProcessExitedError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import { exclude, include } from "./one-or-many.js";
import type { Pid } from "./pid.js";
import type { Abandonable, Process } from "./process.js";
import type { ExitReason } from "./reason.js";
import type { Due, Timer } from "./timers.js";

declare const answers: unique symbol;

/** Where the answer to a call goes; the callee gives it to `ctx.reply` or `ctx.refuse`. */
export interface ReplyTo<R> {
  readonly [answers]: (value: R) => void;
  /** False once the call has ended: nobody waits for this reply any more. */
  readonly open: boolean;
}

/** The request as its callee sees it. */
export function replyAddress<R>(request: Request<R>): ReplyTo<R> {
  return request as unknown as ReplyTo<R>;
}

/** Options of every call. */
export interface CallOptions {
  /** Milliseconds to wait for the reply; `Infinity` waits until the callee ends. Default 5,000. */
  readonly timeout?: number;
  /** Ends the wait early; the call rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A call under way. Sits in the callee's mailbox until it is taken, and in its list of open calls until it ends. */
export class Request<R = unknown> extends Entry implements Due, Abandonable {
  open = true;
  message: unknown = undefined;
  callee: Process | undefined = undefined;
  next: Request | undefined = undefined;
  previous: Request | undefined = undefined;
  readonly promise: Promise<R>;
  private kernel: Kernel | undefined = undefined;
  private owner: Process | undefined = undefined;
  private to: Pid | string = "";
  private timer: Timer | undefined = undefined;
  private timeoutMs = 0;
  private signal: AbortSignal | undefined = undefined;
  private resolve!: (value: unknown) => void;
  private reject!: (error: unknown) => void;
  private withdrawn: (() => void) | undefined = undefined;

  constructor() {
    super();
    this.promise = new Promise<R>((resolve, reject) => {
      this.resolve = resolve as (value: unknown) => void;
      this.reject = reject;
    });
  }

  /** Ties the call to its two ends and arms its limits. Called once, before the request is delivered. */
  begin(kernel: Kernel, owner: Process | undefined, to: Pid | string, callee: Process | undefined, timeoutMs: number): void {
    this.kernel = kernel;
    this.owner = owner;
    this.to = to;
    this.timeoutMs = timeoutMs;
    if (timeoutMs !== Number.POSITIVE_INFINITY) this.timer = kernel.addTimer(timeoutMs, this);
    if (owner !== undefined) owner.extras.waits = include(owner.extras.waits, this);
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
    signal.addEventListener("abort", this.onAbort, { once: true });
  }

  /** Something to do when the wait ends without a reply, such as telling another node. */
  onWithdraw(run: () => void): void {
    this.withdrawn = run;
  }

  fulfil(value: R): void {
    if (this.close()) this.resolve(value);
  }

  fail(error: unknown): void {
    if (this.close()) this.reject(error);
  }

  /** The callee died, or was never there. */
  calleeExited(reason: ExitReason): void {
    this.fail(new CalleeExitedError(String(this.to), reason));
  }

  /** The timeout. */
  fire(): void {
    if (!this.open) return;
    this.withdrawn?.();
    this.fail(new CallTimeoutError(String(this.to), this.timeoutMs));
  }

  abandon(error: Error): void {
    if (!this.open) return;
    this.withdrawn?.();
    this.fail(error);
  }

  private readonly onAbort = (): void => this.abandon(this.signal?.reason);

  /** Unties the call from everything. False when it had ended before. */
  private close(): boolean {
    if (!this.open) return false;
    this.open = false;
    this.message = undefined;
    if (this.timer !== undefined) this.kernel?.cancelTimer(this.timer);
    this.signal?.removeEventListener("abort", this.onAbort);
    const owner = this.owner;
    if (owner?.rare !== undefined) owner.rare.waits = exclude(owner.rare.waits, this);
    const callee = this.callee;
    if (callee !== undefined) {
      if (this.previous === undefined) callee.requests = this.next;
      else this.previous.next = this.next;
      if (this.next !== undefined) this.next.previous = this.previous;
      this.next = undefined;
      this.previous = undefined;
    }
    return true;
  }
}

/** Ends every call that waits for `callee`. */
export function failRequests(callee: Process, reason: ExitReason): void {
  for (let request = callee.requests; request !== undefined; request = callee.requests) request.calleeExited(reason);
}

/** The error with which a process's own waits end when it exits. */
export function exitedError(process: Process): ProcessExitedError {
  return new ProcessExitedError(process.pid, process.rare?.exitReason ?? { type: "normal" });
}
