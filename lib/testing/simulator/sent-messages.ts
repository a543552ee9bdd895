// Tells messages apart: each message sent has a number, also when one object is sent twice. Those of a process are in
// the order of its mailbox. A mailbox may drop entries without notice, so the two are compared again before each use.

import { isGone, SignalEntry, TaskEntry } from "../../process/entries.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import { EMPTY } from "../../process/mailbox.js";
import { messageOf } from "../../process/request.js";
import type { Actor } from "./actor.js";

/** One message on its way or in a mailbox. */
export interface SentMessage {
  /** From 1, in the order of sending. */
  readonly number: number;
  /** Path of the sender. */
  readonly from: string;
  /** As the mailbox holds it. */
  readonly item: unknown;
}

export class SentMessages {
  #count = 0;
  /** In transit, by sender and receiver. */
  readonly #ways = new Map<string, SentMessage[]>();
  readonly #mailboxes = new Map<Actor, SentMessage[]>();
  /** The last message that did not get into its mailbox. */
  #refused: SentMessage | undefined = undefined;

  /** A new message. */
  send(from: string, item: unknown): SentMessage {
    return { number: ++this.#count, from, item };
  }

  /** A message is on its way. */
  hold(way: string, sent: SentMessage): void {
    const messages = this.#ways.get(way) ?? [];
    this.#ways.set(way, messages);
    messages.push(sent);
  }

  /** The message of the item that arrives now. Items before it were withdrawn on their way. */
  arriving(way: string, item: unknown): SentMessage | undefined {
    const messages = this.#ways.get(way) ?? [];
    for (let sent = messages.shift(); sent !== undefined; sent = messages.shift())
      if (Object.is(sent.item, item)) return sent;
    return undefined;
  }

  /** Puts a message behind the others in a mailbox, if it gets in. */
  enter(to: Actor, sent: SentMessage): void {
    const { process } = to;
    if (process === undefined || !to.alive || isFull(process, sent.item)) this.#refused = sent;
    else this.mailbox(to).push(sent);
  }

  /** A message that was discarded just now: the one refused, or the first such one of the mailbox. */
  lost(to: Actor, message: unknown): SentMessage | undefined {
    const is = (sent: SentMessage): boolean => Object.is(messageOf(sent.item), message);
    const refused = this.#refused;
    if (refused !== undefined && is(refused)) return refused;
    const messages = this.#mailboxes.get(to) ?? [];
    const index = messages.findIndex(is);
    return index < 0 ? undefined : messages.splice(index, 1)[0];
  }

  /** The message at a place of the mailbox, which the process takes now. */
  take(owner: Actor, index: number): SentMessage | undefined {
    const { process } = owner;
    if (process === undefined) return undefined;
    const messages = this.mailbox(owner);
    const item = process.peek(index);
    let place = messages.length - 1;
    for (let at = process.length - 1; at > index; at--) if (!isGone(process.peek(at))) place--;
    const sent = messages[place];
    if (sent === undefined || !Object.is(sent.item, item)) return undefined;
    messages.splice(place, 1);
    return sent;
  }

  /** The messages in a mailbox, oldest first. */
  mailbox(owner: Actor): SentMessage[] {
    const { process } = owner;
    const messages = this.#mailboxes.get(owner) ?? [];
    this.#mailboxes.set(owner, messages);
    if (process !== undefined) align(messages, process);
    return messages;
  }
}

/** Removes the messages whose items are no longer in the mailbox. A full mailbox drops its oldest entry, so both ends are last. */
function align(messages: SentMessage[], process: WatchedProcess): void {
  let at = process.length - 1;
  for (let place = messages.length - 1; place >= 0; place--) {
    while (at >= 0 && isGone(process.peek(at))) at--;
    const entry = at < 0 ? EMPTY : process.peek(at);
    if (Object.is((messages[place] as SentMessage).item, entry)) at--;
    else messages.splice(place, 1);
  }
}

/** Whether a bounded mailbox refuses the item that comes next. */
function isFull(process: WatchedProcess, item: unknown): boolean {
  const limits = process.rare?.mailbox;
  if (limits === undefined || limits.overflow === "drop-oldest") return false;
  if (item instanceof SignalEntry || item instanceof TaskEntry) return false;
  return process.depth - (process.rare?.unbounded ?? 0) >= limits.capacity;
}
