// Tells messages apart: each message sent has a number, also when one object is sent twice. The letters of a process are in
// the order of its mailbox. A mailbox may drop entries without notice, so the two are compared again before each use.

import { isGone, SignalEntry, TaskEntry } from "../../process/entries.js";
import type { WatchedProcess } from "../../process/intercepted.js";
import { EMPTY } from "../../process/mailbox.js";
import { messageOf } from "../../process/request.js";
import type { Actor } from "./actor.js";

/** One message on its way or in a mailbox. */
export interface Letter {
  /** From 1, in the order of sending. */
  readonly number: number;
  /** Path of the sender. */
  readonly from: string;
  /** As the mailbox holds it. */
  readonly item: unknown;
}

export class Letters {
  #count = 0;
  /** In transit, by sender and receiver. */
  readonly #ways = new Map<string, Letter[]>();
  readonly #mailboxes = new Map<Actor, Letter[]>();
  /** The last letter that did not get into its mailbox. */
  #refused: Letter | undefined = undefined;

  /** A new letter. */
  written(from: string, item: unknown): Letter {
    return { number: ++this.#count, from, item };
  }

  /** A letter is on its way. */
  hold(way: string, letter: Letter): void {
    const letters = this.#ways.get(way) ?? [];
    this.#ways.set(way, letters);
    letters.push(letter);
  }

  /** The letter of the item that arrives now. Items before it were withdrawn on their way. */
  arriving(way: string, item: unknown): Letter | undefined {
    const letters = this.#ways.get(way) ?? [];
    for (let letter = letters.shift(); letter !== undefined; letter = letters.shift())
      if (Object.is(letter.item, item)) return letter;
    return undefined;
  }

  /** Puts a letter behind the others in a mailbox, if it gets in. */
  enter(to: Actor, letter: Letter): void {
    const { process } = to;
    if (process === undefined || !to.alive || isFull(process, letter.item)) this.#refused = letter;
    else this.mailbox(to).push(letter);
  }

  /** The letter of a message that was discarded just now: the one refused, or the first such one of the mailbox. */
  lost(to: Actor, message: unknown): Letter | undefined {
    const is = (letter: Letter): boolean => Object.is(messageOf(letter.item), message);
    const refused = this.#refused;
    if (refused !== undefined && is(refused)) return refused;
    const letters = this.#mailboxes.get(to) ?? [];
    const index = letters.findIndex(is);
    return index < 0 ? undefined : letters.splice(index, 1)[0];
  }

  /** The letter at a place of the mailbox, which the process takes now. */
  take(owner: Actor, index: number): Letter | undefined {
    const { process } = owner;
    if (process === undefined) return undefined;
    const letters = this.mailbox(owner);
    const item = process.peek(index);
    let place = letters.length - 1;
    for (let at = process.length - 1; at > index; at--) if (!isGone(process.peek(at))) place--;
    const letter = letters[place];
    if (letter === undefined || !Object.is(letter.item, item)) return undefined;
    letters.splice(place, 1);
    return letter;
  }

  /** The letters in a mailbox, oldest first. */
  mailbox(owner: Actor): Letter[] {
    const { process } = owner;
    const letters = this.#mailboxes.get(owner) ?? [];
    this.#mailboxes.set(owner, letters);
    if (process !== undefined) align(letters, process);
    return letters;
  }
}

/** Removes the letters whose items are no longer in the mailbox. A full mailbox drops its oldest entry, so both ends are last. */
function align(letters: Letter[], process: WatchedProcess): void {
  let at = process.length - 1;
  for (let place = letters.length - 1; place >= 0; place--) {
    while (at >= 0 && isGone(process.peek(at))) at--;
    const entry = at < 0 ? EMPTY : process.peek(at);
    if (Object.is((letters[place] as Letter).item, entry)) at--;
    else letters.splice(place, 1);
  }
}

/** Whether a bounded mailbox refuses the item that comes next. */
function isFull(process: WatchedProcess, item: unknown): boolean {
  const limits = process.rare?.mailbox;
  if (limits === undefined || limits.overflow === "drop-oldest") return false;
  if (item instanceof SignalEntry || item instanceof TaskEntry) return false;
  return process.depth - (process.rare?.unbounded ?? 0) >= limits.capacity;
}
