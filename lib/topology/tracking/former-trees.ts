// The trees of earlier tries of a spout's pending tuples.

import { type PendingTuple, traceOf } from "./pending-tuple.js";

/** How many former trees of one tuple are remembered. */
const MOST_TREES = 4;

/** The former trees of a spout's task. They outlive the task's process, and are forgotten with their tuples. */
export class FormerTrees {
  readonly #owners = new Map<string, PendingTuple>();

  /** A tree of the tuple has ended, and the tuple is not settled. */
  add(pending: PendingTuple, hi: number, lo: number): void {
    const { trees } = traceOf(pending);
    const key = keyOf(hi, lo);
    trees.push(key);
    this.#owners.set(key, pending);
    if (trees.length > MOST_TREES) this.#owners.delete(trees.shift() as string);
  }

  find(hi: number, lo: number): PendingTuple | undefined {
    return this.#owners.size === 0 ? undefined : this.#owners.get(keyOf(hi, lo));
  }

  /** The tuple is settled. */
  forget(pending: PendingTuple): void {
    for (const key of pending.trace?.trees ?? []) this.#owners.delete(key);
  }
}

function keyOf(hi: number, lo: number): string {
  return `${hi | 0}:${lo | 0}`;
}
