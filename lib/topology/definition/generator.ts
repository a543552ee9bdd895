// How the steps of a generator that a bolt's function returned are run: each when there is room for what it emits.

import { isThenable } from "../../process/thenable.js";

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

/**
 * What a function returned, if that is no iterator; else the end of this, whose steps are asked for as room comes: a
 * promise, unless there is room for all of them at once.
 *
 * @param ready - a promise when there is no room
 */
export function runGenerator(result: unknown, ready: () => PromiseLike<void> | undefined): unknown {
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
