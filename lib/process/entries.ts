// What waits in a mailbox besides plain messages. Only the kernel makes these, so no message can be taken for one.

import type { AsyncContext } from "./environment.js";
import type { DeadLetterReason } from "./events.js";
import type { Mailbox } from "./mailbox.js";
import type { Monitor } from "./monitor.js";
import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";

/** A linked process ended, or an exit signal was sent; met only by a process that traps exits. */
export interface ExitSignal {
  readonly type: "exit";
  readonly from: Pid;
  readonly reason: ExitReason;
}

/** A monitored process ended, was not there (`noproc`), or went out of reach (`noconnection`). */
export interface DownSignal {
  readonly type: "down";
  readonly ref: Monitor;
  readonly pid: Pid;
  readonly reason: ExitReason;
}

/** A process joined or left a group that this process monitors. */
export interface GroupSignal {
  readonly type: "group";
  readonly change: "join" | "leave";
  readonly group: string;
  readonly pid: Pid;
}

/** What a process is told beside its messages. */
export type Signal = ExitSignal | DownSignal | GroupSignal;

/** What the library made: all that is in mailboxes and not simply a message of the user's. */
export abstract class Special {}

/** `instanceof Special` of whatever is in a mailbox. A message may be a Proxy that throws at it. */
export function isSpecial(item: unknown): boolean {
  try {
    return item instanceof Special;
  } catch {
    return false;
  }
}

/** A message that is told when its receiver will not come to it, in place of becoming a dead letter. */
export abstract class Returnable extends Special {
  /** @param why - the receiver ended before it took the message (`exited`), or its bounded mailbox dropped it */
  abstract returned(why: DeadLetterReason): void;
}

/** An entry that has ended in the mailbox where it waited, and has yet to be cleared away there. */
export const GONE: unique symbol = Symbol("gone");

/** What may end while it waits in a mailbox: a call, a delivery. See {@link Mailbox.withdraw}. */
export interface Withdrawable {
  /** The mailbox in which it waits. */
  queuedIn: Mailbox | typeof GONE | undefined;
}

/** A {@link Returnable} that may end before its receiver comes to it. */
export abstract class Recallable extends Returnable implements Withdrawable {
  queuedIn: Withdrawable["queuedIn"] = undefined;
  /** Where it is handled, in a system whose messages carry their sender's context. */
  context: AsyncContext | undefined = undefined;
}

/** Anything in a mailbox that is not simply a message. */
export abstract class Entry extends Special implements Withdrawable {
  queuedIn: Withdrawable["queuedIn"] = undefined;
  /** Where it is handled, in a system whose messages carry their sender's context. */
  context: AsyncContext | undefined = undefined;
}

/** A plain message and its sender's context. */
export class ContextMessage extends Entry {
  readonly message: unknown;
  declare context: AsyncContext;
  constructor(message: unknown, context: AsyncContext) {
    super();
    this.message = message;
    this.context = context;
  }
}

/** `instanceof Entry` of whatever is in a mailbox. A message may be a Proxy that throws at it. */
export function isEntry(item: unknown): item is Entry {
  try {
    return item instanceof Entry;
  } catch {
    return false;
  }
}

/** The same for {@link Returnable}. */
export function isReturnable(item: unknown): item is Returnable {
  try {
    return item instanceof Returnable;
  } catch {
    return false;
  }
}

/** An entry as its sender sent it. */
export function plain(item: unknown): unknown {
  return isEntry(item) && item instanceof ContextMessage ? item.message : item;
}

/** The context that a mailbox entry carries. */
export function contextOf(item: unknown): AsyncContext | undefined {
  return isEntry(item) || (isReturnable(item) && item instanceof Recallable) ? item.context : undefined;
}

/** Its receiver has taken it, or it never got in. */
export function taken(item: unknown): void {
  if (isEntry(item) || (isReturnable(item) && item instanceof Recallable)) item.queuedIn = undefined;
}

export function isGone(item: unknown): boolean {
  return (isEntry(item) || (isReturnable(item) && item instanceof Recallable)) && item.queuedIn === GONE;
}

/** A signal on its way to a process. */
export class SignalEntry extends Entry {
  readonly signal: Signal;
  constructor(signal: Signal) {
    super();
    this.signal = signal;
  }
}

/** A function that a process wants run between its messages: a timer of its own that is due. */
export class TaskEntry extends Entry {
  readonly run: () => unknown;
  constructor(run: () => unknown) {
    super();
    this.run = run;
  }
}
