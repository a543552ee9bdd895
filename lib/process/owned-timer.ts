// The timers of a process: each sends a message or runs a function of its owner, and is cancelled when the owner exits.

import { TaskEntry } from "./entries.js";
import type { AsyncContext } from "./environment.js";
import { MailboxFullError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import { exclude, include } from "./one-or-many.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import { captureSenderContext } from "./sender-context.js";
import type { Due, Timer } from "./timer-queue.js";

/** A timer that was set. Pass it to `ctx.cancel` or `system.cancel`. */
export interface TimerRef {
  /** Whether the timer has yet to fire. */
  readonly pending: boolean;
}

/** What a timer does when due: send `message` to a pid or name, or run a function in its owner. */
export type TimerAction =
  | { readonly to: Pid<unknown> | string; readonly message: unknown }
  | { readonly run: () => unknown };

export class OwnedTimer implements Due, TimerRef {
  private timer: Timer;
  private readonly kernel: Kernel;
  private readonly owner: Process | undefined;
  private readonly action: TimerAction;
  private readonly periodMs: number | undefined;
  /** Where it was set, if contexts are carried. */
  private readonly context: AsyncContext | undefined;

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
    return this.timer.pending;
  }

  /** False when it had fired or was cancelled before. */
  cancel(): boolean {
    if (this.owner !== undefined) this.owner.timers = exclude(this.owner.timers, this);
    return this.kernel.cancelTimer(this.timer);
  }

  /** An interval keeps its rhythm. Beats that were missed completely are skipped. */
  fire(): void {
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
      this.post(to, message);
      // As in OTP, an interval ends with its receiver. A name may be taken again.
      if (typeof to !== "string" && to.process === undefined && to.node === this.kernel.node) this.cancel();
    } else if (this.owner !== undefined) runIn(this.owner, this.action.run);
  }

  /** No code could catch a MailboxFullError of a timer, so the message becomes a dead letter instead. */
  private post(to: Pid<unknown> | string, message: unknown): void {
    try {
      this.kernel.send(to, message);
    } catch (error) {
      if (!(error instanceof MailboxFullError)) throw error;
      this.kernel.deadLetter(to, message, "mailbox-full");
    }
  }
}

/** Runs a function as part of a process: between messages for callbacks, at once for a body, which has no between. */
function runIn(owner: Process, run: () => unknown): void {
  if (owner.handle !== undefined) owner.deliverSignal(new TaskEntry(run));
  else owner.perform(run);
}
