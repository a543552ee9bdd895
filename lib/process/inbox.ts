// The mailbox of one process: which entries are queued, what a full mailbox does with a message, and when the process is ready to
// run. The class has no fields: a process and its mailbox are one object.

import type { MailboxLimits } from "./bound.js";
import {
  type Entry,
  isEntry,
  isGone,
  isSpecial,
  isWithdrawable,
  type Recallable,
  SignalEntry,
  TaskEntry,
  taken,
  type Withdrawable,
} from "./entries.js";
import type { Runnable, Scheduler } from "./environment.js";
import { MailboxFullError } from "./errors.js";
import { EMPTY, Mailbox } from "./mailbox.js";
import type { Pid } from "./pid.js";
import { DEAD, HELD, IDLE, READY, type State } from "./process-state.js";

/** The part of the rare fields that a bounded mailbox needs. */
interface Bounded {
  mailbox: MailboxLimits | undefined;
  unbounded: number;
}

export abstract class Inbox extends Mailbox implements Runnable {
  abstract readonly pid: Pid;
  abstract state: State;
  abstract rare: Bounded | undefined;
  abstract pendingReceive: { scanned: number } | undefined;
  protected abstract readonly scheduler: Scheduler;

  abstract activate(limit: number): number;
  /** The mailbox has grown. */
  protected abstract measure(): void;
  /** A message without room is not queued, or a queued one makes room for it. */
  protected abstract drop(entry: unknown, capacity: number): void;
  /** A message without room ends the process. */
  protected abstract burst(message: unknown, capacity: number): void;
  /** A signal or a task has reached the process while an inspector has it suspended. */
  protected abstract heard(entry: Entry): void;

  /**
   * Queues a message. The process runs later: nothing of it runs within the sender's turn.
   *
   * @param _from - the sender, if that is a process: for mailboxes that are fair
   */
  deliver(message: unknown, _from?: Inbox): void {
    if (this.first === EMPTY) this.first = message;
    else if (!this.queueBehind(message)) return;
    if (this.state === IDLE) {
      this.state = READY;
      this.scheduler.ready(this);
    }
  }

  /** Queues what may end while it waits; it counts as a message. */
  deliverRequest(request: (Entry & { readonly tap: unknown }) | Recallable): void {
    this.mixed = true;
    request.queuedIn = this;
    this.deliver(request);
  }

  /** Queues a signal, even beyond the mailbox's bound. */
  deliverSignal(entry: Entry): void {
    this.mixed = true;
    this.push(entry);
    if (this.rare?.mailbox !== undefined) this.rare.unbounded++;
    if (this.state === IDLE) {
      this.state = READY;
      this.scheduler.ready(this);
    } else {
      this.measure();
      if (this.state === HELD) this.heard(entry);
    }
  }

  /**
   * Queues a task of the process itself before everything that waits. Called within a turn of the process, or before its first
   * one, so that nothing has to wake it.
   */
  protected queueFirst(task: TaskEntry): void {
    this.mixed = true;
    this.unshift(task);
    if (this.rare?.mailbox !== undefined) this.rare.unbounded++;
  }

  /** Puts entries that were taken back before everything that waits, in their order. They are outside the bound. */
  putBack(entries: readonly unknown[]): void {
    for (const entry of [...entries].reverse()) {
      if (isSpecial(entry)) this.mixed = true;
      if (isWithdrawable(entry)) entry.queuedIn = this;
      this.unshift(entry);
      if (this.rare?.mailbox !== undefined && isOutsideBound(entry)) this.rare.unbounded++;
    }
    if (this.state === IDLE && this.first !== EMPTY) {
      this.state = READY;
      this.scheduler.ready(this);
    }
  }

  protected queueBehind(message: unknown): boolean {
    const rare = this.rare;
    if (rare?.mailbox !== undefined && this.depth - rare.unbounded >= rare.mailbox.capacity) {
      if (!this.makeRoom(message, rare.mailbox)) return false;
    }
    this.push(message);
    this.measure();
    return true;
  }

  /** Applies the overflow policy. False when `message` is not to be queued. */
  protected makeRoom(message: unknown, { capacity, overflow }: MailboxLimits): boolean {
    if (overflow !== "drop-oldest") taken(message);
    switch (overflow) {
      case "reject":
        throw this.full(capacity);
      case "drop-newest":
        this.drop(message, capacity);
        return false;
      case "drop-oldest": {
        const entry = this.removeAt(this.oldest(message));
        taken(entry);
        this.drop(entry, capacity);
        return this.state !== DEAD;
      }
      case "exit":
        this.burst(message, capacity);
        return false;
      default:
        overflow satisfies never;
        return true;
    }
  }

  /** The place of the message that `drop-oldest` drops for `_message`. */
  protected oldest(_message: unknown): number {
    let index = 0;
    for (let entry = this.peek(0); isOutsideBound(entry) || isGone(entry); entry = this.peek(index)) index++;
    return index;
  }

  protected full(capacity: number): MailboxFullError {
    return new MailboxFullError(this.pid, capacity);
  }

  /** Keeps what is known by position or number true: a receive under way, and the count of signals. */
  override removeAt(index: number): unknown {
    const { pendingReceive, rare, length } = this;
    const entry = super.removeAt(index);
    if (pendingReceive !== undefined && index < pendingReceive.scanned)
      pendingReceive.scanned = Math.max(index, pendingReceive.scanned - length + this.length);
    if (rare?.mailbox !== undefined && isOutsideBound(entry)) rare.unbounded--;
    return entry;
  }

  /** Takes the entry at `index` to be handled. */
  takeAt(index: number): unknown {
    return this.removeAt(index);
  }

  override withdraw(entry: Withdrawable): number {
    const { pendingReceive } = this;
    const removed = this.state === DEAD ? 0 : super.withdraw(entry, pendingReceive?.scanned);
    if (pendingReceive !== undefined) pendingReceive.scanned -= removed;
    return removed;
  }
}

/** Signals and tasks do not count as messages. */
export function isOutsideBound(entry: unknown): boolean {
  return isEntry(entry) && (entry instanceof SignalEntry || entry instanceof TaskEntry);
}
