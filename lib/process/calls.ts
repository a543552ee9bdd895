// Making calls: the request goes to its callee, and everything that may end the wait is armed.

import { declareWaits, isBusy, lookForCycle } from "./call-cycle.js";
import { CallSelfError, SystemStoppedError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import { onlyKnown } from "./known-options.js";
import { callable, checkTarget, delay, withMethod } from "./options.js";
import { runningOwner } from "./origin.js";
import { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { NOPROC } from "./reason.js";
import { type CallOptions, type Reply, type ReplyTo, Request, replyAddress } from "./request.js";

type Build<R> = (replyTo: ReplyTo<R>) => unknown;

/** Fewest calls of one turn that are worth a look for those that have ended. */
const CROWD = 64;

/** Handles pass `from`, too. */
const CALL_OPTIONS: ReadonlySet<string> = new Set<keyof CallOptions | "from">([
  ...(["timeoutMs", "signal", "withdraw", "from"] as const),
]);

/** Refuses an unknown option of a call. @throws OptionError */
export function checkCallOptions(options: CallOptions | undefined): void {
  onlyKnown(options, CALL_OPTIONS);
}

export class Calls {
  private readonly kernel: Kernel;
  /** Calls made in this turn, whose timeouts have not begun (docs/decisions/0007). */
  private readonly fresh: Request[] = [];
  /** At this number the list drops calls that have ended. */
  private crowd = CROWD;

  constructor(kernel: Kernel) {
    this.kernel = kernel;
  }

  /** Sends the message that `build` makes around a reply address, and returns the promise of the reply. */
  call<R>(
    owner: Process | undefined,
    to: Pid<never> | string,
    build: Build<R>,
    options: CallOptions | undefined,
  ): Promise<R> {
    const request = new Request<R>();
    const promise = request.await(this.kernel, owner);
    this.build(owner, to, request, build, options);
    return promise;
  }

  /** The same for a caller made from callbacks, which goes on and gets the reply between its messages. */
  ask<R>(
    owner: Process,
    to: Pid<never> | string,
    build: Build<R>,
    onReply: (reply: Reply<R>) => unknown,
    options: CallOptions | undefined,
  ): void {
    const request = new Request<R>();
    request.handBack(owner, onReply);
    this.build(owner, to, request, build, options);
  }

  private build<R>(
    owner: Process | undefined,
    to: Pid<never> | string,
    request: Request<R>,
    build: Build<R>,
    options: CallOptions | undefined,
  ): void {
    try {
      // Handles check their options when they are made.
      checkCallOptions(options);
      request.message = callable(
        "build",
        build,
        "a function from the reply address to the message",
      )(replyAddress(request));
    } catch (error) {
      request.fail(error);
    }
    if (request.open) this.request(owner, to, request, options);
  }

  /** Sends a request and arms what may end it. */
  request<R>(
    owner: Process | undefined,
    to: Pid<never> | string,
    request: Request<R>,
    options?: CallOptions,
  ): void {
    const { kernel } = this;
    const target = typeof to === "string" ? kernel.names.find(to) : (to as Pid<never> | undefined)?.process;
    if (typeof to !== "string" && target !== undefined) kernel.shared?.process(to, "read");
    const here = target !== undefined && target.kernel === kernel;
    try {
      if (target === undefined) checkTarget("to", to);
      const given = options?.timeoutMs;
      const timeoutMs =
        given === undefined ? kernel.limits.callTimeoutMs : delay("timeoutMs", given, 0, true);
      kernel.shared?.stopping("read");
      if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
      if (here && target === owner) throw new CallSelfError(target.pid);
      if (options?.signal !== undefined) kernel.shared?.signals();
      if (options?.signal !== undefined)
        withMethod("signal", options.signal, "throwIfAborted", "an AbortSignal").throwIfAborted();
      if (options?.withdraw === false) request.isKept = true;
      request.begin(kernel, owner, to, here ? target : undefined, timeoutMs);
      if (options?.signal !== undefined) request.obey(options.signal);
      kernel.taps?.called(request as Request);
      if (here) this.deliver(request as Request, target);
      else if (typeof to === "string" || to.node === kernel.node) request.calleeExited(NOPROC);
      else kernel.remote.request(to, request as Request);
    } catch (error) {
      request.fail(error, "undelivered");
    }
  }

  private deliver(request: Request, target: Process): void {
    if (request.owner === undefined && request.promise !== undefined) this.attribute(request);
    target.deliverRequest(request);
    if (this.kernel.shared !== undefined) declareWaits(this.kernel.shared, request, target);
    if (isBusy(target.state)) lookForCycle(request, target);
  }

  /** For a call without an owner: the process whose code runs waits for it. */
  private attribute(request: Request): void {
    const waiter = this.running;
    if (waiter !== undefined) request.awaitedBy(waiter);
  }

  /** The process whose code runs, if one of this system does. */
  get running(): Process | undefined {
    const owner = runningOwner();
    return owner instanceof Pid && owner.node === this.kernel.node ? owner.process : undefined;
  }

  /** The timeout of this call begins at the end of the turn. */
  addTimeout(request: Request): void {
    const { fresh, kernel } = this;
    // Simulated time stands still during a turn, and a timer has to know who set it.
    if (kernel.interception !== undefined) {
      request.timer = kernel.addTimer(request.timeoutMs, request);
      return;
    }
    if (fresh.length >= this.crowd) this.forget();
    fresh.push(request);
    kernel.scheduler.nudge();
  }

  /**
   * Drops calls that have ended: kept until the end of a long turn, they would outlive the young generation of the heap. The
   * next look comes when the list has twice as many calls, so each call costs a constant time.
   */
  private forget(): void {
    const { fresh } = this;
    let open = 0;
    for (const request of fresh) if (request.open) fresh[open++] = request;
    while (fresh.length > open) fresh.pop();
    this.crowd = Math.max(CROWD, 2 * open);
  }

  /** The turn has ended: calls that are still open get their timeouts. True when there are any timers. */
  armTimeouts(now: number): boolean {
    const { fresh, kernel } = this;
    if (fresh.length === 0) return false;
    for (const request of fresh) {
      if (request.open) request.timer = kernel.timeouts.add(now, request.timeoutMs, request);
    }
    // A fresh array would be garbage at every turn; setting the length to 0 costs more than this.
    while (fresh.pop() !== undefined);
    return kernel.timers.size > 0;
  }
}
