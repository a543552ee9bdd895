// The entries of a mailbox besides plain messages. Only the library creates these classes, so no message is mistaken for one.

import type { DeadLetterReason, ExitReason } from "./exit-reason.js";
import type { Monitor } from "./monitor.js";
import type { Pid } from "./pid.js";

/** An asynchronous context of the host: the values of each AsyncLocalStorage at some moment. Node's AsyncResource is one. */
export interface AsyncContext {
  /** Runs `fn` there. */
  runInAsyncScope<A extends unknown[], R>(fn: (...args: A) => R, thisArg?: unknown, ...args: A): R;
}

/** A linked process exited, or an exit signal was sent. Only a process that traps exits receives it. */
export interface ExitSignal {
  /** Tells signals apart. */
  readonly type: "exit";
  /** The process that exited, or that sent the signal. */
  readonly from: Pid;
  /** The exit reason that the signal carries. */
  readonly reason: ExitReason;
}

/** A monitored process exited, did not exist (`noproc`), or became unreachable (`noconnection`). */
export interface DownSignal {
  /** Tells signals apart. */
  readonly type: "down";
  /** The monitor that fired. */
  readonly ref: Monitor;
  /** The process that was monitored. */
  readonly pid: Pid;
  /** Its exit reason. */
  readonly reason: ExitReason;
}

/** A process joined or left a group that this process monitors. */
export interface GroupSignal {
  /** Tells signals apart. */
  readonly type: "group";
  /** Whether the process joined or left. */
  readonly change: "join" | "leave";
  /** The name of the group. */
  readonly group: string;
  /** The process that joined or left. */
  readonly pid: Pid;
}

/** A signal: an entry that a process receives besides messages. */
export type Signal = ExitSignal | DownSignal | GroupSignal;

/** Base of everything in a mailbox that is no plain message. */
export abstract class Special {}

/** `instanceof Special` for any item of a mailbox. A message may be a Proxy that throws at it. */
export function isSpecial(item: unknown): boolean {
  try {
    return item instanceof Special;
  } catch {
    return false;
  }
}

/** A message that is notified when its receiver will not handle it, instead of becoming a dead letter. */
export abstract class Returnable extends Special {
  /** @param why - the receiver ended before it took the message (`exited`), or its bounded mailbox dropped it */
  abstract returned(why: DeadLetterReason): void;
}

/** Marks an entry that was withdrawn but not yet removed from its mailbox. */
export const GONE: unique symbol = Symbol("gone");

/** Where an entry waits: a mailbox, a stash, the postponed events of a state machine. */
export interface Holder {
  /** The entry has ended. From now on it counts as absent, and nothing handles it. */
  withdraw(entry: Withdrawable): unknown;
}

/** An entry that may end while it waits, such as a call or a delivery. See {@link Holder}. */
export interface Withdrawable {
  /** Where it waits. */
  queuedIn: Holder | typeof GONE | undefined;
}

/** A {@link Returnable} that may end before its receiver comes to it. */
export abstract class Recallable extends Returnable implements Withdrawable {
  queuedIn: Withdrawable["queuedIn"] = undefined;
  /** A note of telemetry. */
  tap: unknown = undefined;
  /** Where it is handled, in a system whose messages carry their sender's context. */
  context: AsyncContext | undefined = undefined;
}

/** The kinds of entries that a process opens in different ways. */
const MESSAGE = 0;
export const SIGNAL = 1;
export const TASK = 2;

/** Anything in a mailbox that is not simply a message. */
export abstract class Entry extends Special implements Withdrawable {
  /** One of the prototype's: quicker than `instanceof`, and without cost in memory. */
  declare readonly kind: typeof MESSAGE | typeof SIGNAL | typeof TASK;
  queuedIn: Withdrawable["queuedIn"] = undefined;
  /** Where it is handled, in a system whose messages carry their sender's context. */
  context: AsyncContext | undefined = undefined;
}

/** A plain message with its sender's context, or its sender, where that matters. */
export class ContextMessage extends Entry {
  readonly message: unknown;
  /** The process that sent it, if that is known. */
  readonly from: Pid | undefined;
  /** A note of telemetry about the message. */
  tap: unknown = undefined;
  constructor(message: unknown, context: AsyncContext | undefined, from?: Pid) {
    super();
    this.message = message;
    this.context = context;
    this.from = from;
  }
}

/** `instanceof Entry` for any item of a mailbox. A message may be a Proxy that throws at it. */
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

/** Notes that an entry has left its mailbox, or never got in. */
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

/** A function that runs between two messages of a process, for example because a timer of that process is due. */
export class TaskEntry extends Entry {
  readonly run: () => unknown;
  /** Whose message it stands for, such as a reply. Undefined for the process's own. */
  from: Pid | undefined = undefined;
  constructor(run: () => unknown) {
    super();
    this.run = run;
  }
}

/** A request of an inspector. A process that an inspector has suspended runs it too, ahead of all that waits. */
export class InspectionTask extends TaskEntry {
  /** Runs it where it was sent from. */
  perform(): unknown {
    return this.context === undefined ? this.run() : this.context.runInAsyncScope(this.run);
  }
}

Object.assign(Entry.prototype, { kind: MESSAGE });
Object.assign(SignalEntry.prototype, { kind: SIGNAL });
Object.assign(TaskEntry.prototype, { kind: TASK });

/** Whether an entry of a mailbox can be withdrawn by another process, as calls and deliveries can. */
export function isWithdrawable(item: unknown): item is Entry | Recallable {
  if (isEntry(item))
    return !(item instanceof SignalEntry || item instanceof TaskEntry || item instanceof ContextMessage);
  return isReturnable(item) && item instanceof Recallable;
}
