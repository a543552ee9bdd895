// What is remembered of a spout's tuple, for as long as it is not settled, so that what comes of it is known again when
// it is tried again: the ids of its former trees, where these failed, and which windows had it.

import type { Loss } from "./losses.js";
import type { Kept } from "./pending.js";

/** Former trees of one tuple that are remembered. */
const MOST_TREES = 4;

/** A tuple of a windowed bolt that is in every window that it belongs into, or in some. */
interface Windowed {
  /** The bolt's task. */
  readonly task: number;
  /** The time that windows have it by. */
  readonly time: number;
  /** Every window that it belongs into was handed over. */
  done: boolean;
}

/** Of one tuple of a spout. Made when there is something to remember. */
export class Trace {
  /** Keys of its former trees, the oldest first. */
  readonly trees: string[] = [];
  /** Components that failed something of it. */
  readonly failedAt: Set<string> = new Set();
  /** A tree of it expired: nobody knows where. */
  expired = false;
  /** No try will help: a bolt has said so. */
  hopeless = false;
  /** What bolts with windows have lost of it. */
  readonly losses: Loss[] = [];
  private readonly windowed: Windowed[] = [];
  /** A window of that task was handed over with a tuple of this time that came of it. */
  handedOver(task: number, time: number): void {
    if (this.windowedAt(task, time) === undefined) this.windowed.push({ task, time, done: false });
  }

  /** That was its last window. */
  wasLast(task: number, time: number): void {
    const one = this.windowedAt(task, time);
    if (one !== undefined) one.done = true;
  }

  windowedAt(task: number, time: number): Windowed | undefined {
    return this.windowed.find((one) => one.task === task && one.time === time);
  }
}

/** The trace of a tuple. */
export function traceOf(kept: Kept): Trace {
  kept.trace ??= new Trace();
  return kept.trace;
}

/** The former trees of a spout's task. They outlive its process, and end with their tuples. */
export class FormerTrees {
  private readonly owners = new Map<string, Kept>();

  /** A tree of the tuple is over, and the tuple is not. */
  add(kept: Kept, hi: number, lo: number): void {
    const { trees } = traceOf(kept);
    const key = keyOf(hi, lo);
    trees.push(key);
    this.owners.set(key, kept);
    if (trees.length > MOST_TREES) this.owners.delete(trees.shift() as string);
  }

  find(hi: number, lo: number): Kept | undefined {
    return this.owners.size === 0 ? undefined : this.owners.get(keyOf(hi, lo));
  }

  /** The tuple is settled. */
  forget(kept: Kept): void {
    for (const key of kept.trace?.trees ?? []) this.owners.delete(key);
  }
}

function keyOf(hi: number, lo: number): string {
  return `${hi | 0}:${lo | 0}`;
}
