// Runs a generator that a bolt's function has returned: each step when there is buffer space for its tuples.

import { isThenable } from "../../process/thenable.js";

type AnyIterator = Iterator<unknown> | AsyncIterator<unknown>;

/**
 * Returns the result of a function when it is no iterator. Runs an iterator to its end, each step when there is buffer space, and
 * returns a promise of the end unless there was buffer space for all steps.
 *
 * @param ready - returns a promise while there is no buffer space
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
    // The task has ended during a wait: the iterator releases what it holds. An iterator that threw has ended already.
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
