// The input of a stream: an iterable that may throw, hang or answer nonsense. Each answer is checked where it comes in.

import { OptionError } from "../../process/errors.js";
import { isThenable } from "../../process/thenable.js";

/** The source of a stream's items. */
export type Inputs<I> = Iterable<I> | AsyncIterable<I>;

/** The answer of the input: an item, its end, or an error. */
export type Answer<I> =
  | { readonly type: "read"; readonly item: I }
  | { readonly type: "input-over" }
  | { readonly type: "input-failed"; readonly error: unknown };

const OVER = { type: "input-over" } as const;

/** @throws OptionError when it is not iterable */
export function checkInputs<I>(inputs: Inputs<I>): Inputs<I> {
  const given = inputs as Partial<AsyncIterable<I>> & Partial<Iterable<I>>;
  if (typeof given?.[Symbol.asyncIterator] === "function" || typeof given?.[Symbol.iterator] === "function")
    return inputs;
  throw new OptionError("inputs", inputs, "an Iterable or an AsyncIterable");
}

/** Reads one item at a time. It is opened at the first read. */
export class Input<I> {
  readonly #inputs: Inputs<I>;
  #iterator: Iterator<I> | AsyncIterator<I> | undefined;
  /** An answer is awaited. */
  isReading = false;

  constructor(inputs: Inputs<I>) {
    this.#inputs = inputs;
  }

  /** The answer, or undefined when `later` will get it. */
  read(later: (answer: Answer<I>) => void): Answer<I> | undefined {
    try {
      this.#iterator ??= this.#open();
      const result = this.#iterator.next();
      if (!isThenable(result)) return answerOf(result);
      this.isReading = true;
      const come = (answer: Answer<I>): void => {
        this.isReading = false;
        later(answer);
      };
      Promise.resolve(result).then(
        (value) => come(checked(value)),
        (error) => come({ type: "input-failed", error }),
      );
      return undefined;
    } catch (error) {
      return { type: "input-failed", error };
    }
  }

  /**
   * Calls `return` of the iterator, if it was opened and has one. The promise of its end, if that is worth waiting for: an
   * iterator that is still asked for an item answers after that item.
   *
   * @throws what `return` throws
   */
  close(): PromiseLike<unknown> | undefined {
    const result = this.#iterator?.return?.();
    if (!isThenable(result)) return undefined;
    if (!this.isReading) return result;
    Promise.resolve(result).catch(() => undefined);
    return undefined;
  }

  #open(): Iterator<I> | AsyncIterator<I> {
    const inputs = this.#inputs as Partial<AsyncIterable<I>> & Iterable<I>;
    return inputs[Symbol.asyncIterator]?.() ?? inputs[Symbol.iterator]();
  }
}

function checked<I>(result: IteratorResult<I>): Answer<I> {
  try {
    return answerOf(result);
  } catch (error) {
    return { type: "input-failed", error };
  }
}

/** @throws TypeError when it is none */
function answerOf<I>(result: IteratorResult<I>): Answer<I> {
  if (typeof result !== "object" || result === null)
    throw new TypeError(`the iterator returned ${String(result)}, which is not an object`);
  return result.done === true ? OVER : { type: "read", item: result.value };
}
