// A place in the list of living processes that stays valid between turns, while processes come and go. The kernel moves it on when
// the process at which it stands leaves the list. Without a cursor, that costs the end of a process one comparison.

import { exclude, include, type OneOrMany } from "./one-or-many.js";

/** A member of the list, which knows the next one. */
interface Listed<P> {
  readonly next: P | undefined;
}

/** The owner of the list: a kernel. */
interface ListOwner<P extends Listed<P>> {
  readonly newest: P | undefined;
  cursors: OneOrMany<Cursor<P>>;
}

/**
 * Walks from the newest process to the oldest. A process that lives from the first step to the last is met once; one that is spawned
 * meanwhile is not met.
 */
export class Cursor<P extends Listed<P>> {
  /** The process that is next. The kernel moves it. */
  at: P | undefined;
  readonly #owner: ListOwner<P>;

  constructor(owner: ListOwner<P>) {
    this.#owner = owner;
    this.at = owner.newest;
    owner.cursors = include<Cursor<P>>(owner.cursors, this);
  }

  /** The next process, or undefined at the end. */
  next(): P | undefined {
    const process = this.at;
    if (process !== undefined) this.at = process.next;
    return process;
  }

  /** Must be called: the kernel keeps every open cursor. */
  close(): void {
    this.at = undefined;
    this.#owner.cursors = exclude(this.#owner.cursors, this);
  }
}

/** Moves the cursors that stand at a process which is about to leave the list. */
export function passOver<P extends Listed<P>>(cursors: OneOrMany<Cursor<P>>, process: P): void {
  for (const cursor of cursors instanceof Set ? cursors : [cursors])
    if (cursor !== undefined && cursor.at === process) cursor.at = process.next;
}
