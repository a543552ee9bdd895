// The timers of a process. Each timer sends a message or runs a function of its owner, and is cancelled when the owner
// exits.

import { TaskEntry } from "./entries.js";
import type { AsyncContext } from "./environment.js";
import { OptionError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import { exclude, include } from "./one-or-many.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { captureSenderContext } from "./sender-context.js";
import type { Due, Timer } from "./timer-queue.js";
import { post, Via } from "./via.js";

/** A reference to a timer. Pass the reference to `ctx.cancel` or `system.cancel`. */
export interface TimerRef {
  /** Whether the timer has yet to fire. */
  readonly pending: boolean;
}

/** The action of a timer: send `message` to a pid or name, or run a function in the timer's owner. */
export type TimerAction =
  | { readonly to: Pid<unknown> | string; readonly message: unknown }
  | { readonly run: () => unknown };

export class OwnedTimer implements Due, TimerRef {
  private timer: Timer;
  private readonly kernel: Kernel;
  private readonly owner: Process | undefined;
  private readonly action: TimerAction;
  private readonly periodMs: number | undefined;
  /** The asynchronous context of the code that set the timer, if contexts are carried. */
  private readonly context: AsyncContext | undefined;
  /** It has fired, and its function waits for its turn in the mailbox of the owner. */
  private queued = false;

  constructor(
    kernel: Kernel,
    owner: Process | undefined,
    action: TimerAction,
    delayMs: number,
    periodMs?: number,
  ) {
    this.kernel = kernel;
    this.owner = owner;
    this.action = action;
    this.periodMs = periodMs;
    this.context = captureSenderContext(kernel);
    if (owner !== undefined) owner.timers = include(owner.timers, this);
    this.timer = kernel.addTimer(delayMs, this);
  }

  get pending(): boolean {
    this.kernel.shared?.object(this, "read");
    return this.timer.pending;
  }

  /** Returns false when the timer has already acted or been cancelled. */
  cancel(): boolean {
    if (this.owner !== undefined) this.kernel.shared?.process(this.owner.pid, "read");
    if (this.owner !== undefined) this.owner.timers = exclude(this.owner.timers, this);
    const { queued } = this;
    this.queued = false;
    this.kernel.shared?.object(this, "write");
    return this.kernel.cancelTimer(this.timer) || queued;
  }

  /** Fires the timer. An interval that fires late keeps its rhythm: periods that were missed completely are skipped. */
  fire(): void {
    // The death of the owner cancels the timers that have not fired.
    if (this.owner !== undefined) this.kernel.shared?.process(this.owner.pid, "read");
    if (this.periodMs !== undefined) {
      const late = this.kernel.env.now() - this.timer.deadline;
      this.timer = this.kernel.addTimer(this.periodMs - (late % this.periodMs), this);
    } else if (this.owner !== undefined) this.owner.timers = exclude(this.owner.timers, this);
    if (this.context === undefined) this.act();
    else this.context.runInAsyncScope(this.act, this);
  }

  private act(): void {
    if ("to" in this.action) {
      const { to, message } = this.action;
      post(this.kernel, to, message, this.owner);
      // As in OTP, an interval ends with its receiver. An interval to a name or a key goes on, since another process may take
      // that.
      if (typeof to === "string" || to instanceof Via) return;
      this.kernel.shared?.process(to, "read");
      if (to.process === undefined && to.node === this.kernel.node) this.cancel();
    } else if (this.owner !== undefined) this.runIn(this.owner, this.action.run);
  }

  /**
   * Runs a function as part of a process. In a process of callbacks, the function runs between two messages. In a body,
   * the function runs at once, since a body has no such point.
   */
  private runIn(owner: Process, run: () => unknown): void {
    if (owner.handle === undefined) {
      owner.perform(run);
      return;
    }
    this.queued = true;
    const unlessCancelled = (): unknown => {
      this.kernel.shared?.object(this, "write");
      if (!this.queued) return undefined;
      this.queued = false;
      return run();
    };
    owner.deliverSignal(new TaskEntry(unlessCancelled));
  }
}

/** Cancels a timer for a user. @throws OptionError */
export function cancelTimer(timer: TimerRef): boolean {
  if (timer instanceof OwnedTimer) return timer.cancel();
  throw new OptionError("timer", timer, "a timer made by sendAfter, sendInterval or runAfter");
}
