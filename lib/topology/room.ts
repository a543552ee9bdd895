// How a bolt waits until the bolts that it emits to have room: with its next tuple, in the middle of one, or between the
// steps of a generator.

import type { WatchedProcess } from "../process/intercepted.js";
import type { Settler } from "../process/interception.js";
import { exclude, include } from "../process/one-or-many.js";
import { type Abandonable, isThenable, type Process } from "../process/process.js";

/** A task that waits for room. Its end ends the wait. */
export class RoomWait implements Abandonable, Settler {
  readonly promise: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;
  private readonly process: Process;
  private readonly waiters: Set<RoomWait>;

  /** @param waiters - those who are to be let go on together */
  constructor(process: Process, waiters: Set<RoomWait>) {
    this.process = process;
    this.waiters = waiters;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    process.kernel.interception?.gate(process as WatchedProcess, "room", this);
    const { extras } = process;
    extras.waits = include(extras.waits, this);
    waiters.add(this);
  }

  /** There is room. */
  open(): void {
    this.close();
    this.resolve();
  }

  abandon(error: Error): void {
    this.close();
    this.reject(error);
  }

  private close(): void {
    this.waiters.delete(this);
    const { extras } = this.process;
    extras.waits = exclude(extras.waits, this);
  }
}

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

/**
 * What a function returned, if that is no iterator; else the end of this, whose steps are asked for as room comes: a
 * promise, unless there is room for all of them at once.
 *
 * @param ready - a promise when there is no room
 */
export function pulled(result: unknown, ready: () => PromiseLike<void> | undefined): unknown {
  if (!isIterator(result)) return result;
  for (;;) {
    const wait = ready();
    if (wait !== undefined) return pullOn(result, ready, wait);
    const step = result.next();
    if (isThenable(step)) return pullOn(result, ready, step as PromiseLike<IteratorResult<unknown>>);
    if ((step as IteratorResult<unknown>).done === true) return undefined;
  }
}

async function pullOn(
  iterator: AnyIterator,
  ready: () => PromiseLike<void> | undefined,
  first: PromiseLike<void> | PromiseLike<IteratorResult<unknown>>,
): Promise<void> {
  let next: unknown = first;
  try {
    for (;;) {
      const step = (await next) as IteratorResult<unknown> | undefined;
      if (step?.done === true) return;
      next = ready() ?? iterator.next();
    }
  } catch (error) {
    // Its task has ended while it waited: what it holds is released. One that threw itself has no more to say.
    await iterator.return?.();
    throw error;
  }
}

function isIterator(result: unknown): result is AnyIterator {
  return (
    typeof result === "object" &&
    result !== null &&
    typeof (result as { readonly next?: unknown }).next === "function" &&
    (Symbol.iterator in result || Symbol.asyncIterator in result)
  );
}
