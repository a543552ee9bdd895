// A spout from an iterable: an array, a generator, an async iterable or a Node stream. The iterator outlives the tasks that
// read it, so an item that a crashed task had requested is not lost.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { isThenable } from "../../process/thenable.js";
import {
  type DeadStream,
  type Failure,
  type Hooks,
  type SpoutContext,
  type SpoutDefinition,
  spout,
} from "../definition/component.js";
import type { ComponentConfig } from "../definition/config.js";
import { checkName, type Fields, type ValuesOf } from "../definition/field.js";
import { marked } from "../definition/made-by.js";

type Source<V> = Iterable<V> | AsyncIterable<V>;

/** Options of {@link spoutFrom}. */
export interface IterableOptions<F extends Fields, N extends string> {
  /** The fields of the stream. Every item carries them. */
  readonly fields: F;
  /** Name of the stream. Default `items`. */
  readonly stream?: N;
  /** Whether the tuples are tracked, and retried when they fail. Default true. */
  readonly reliable?: boolean;
  /** Called when an item and all tuples derived from it are acked. */
  readonly ack?: (item: ValuesOf<F>) => unknown;
  /** Called when an item has failed, after all retries. */
  readonly fail?: (item: ValuesOf<F>, failure: Failure) => unknown;
  /** Defaults for the configuration of the spout. The topology's settings for this component override them. */
  readonly config?: ComponentConfig;
}

/**
 * Defines a spout whose tuples are the items of an iterable. Each item is emitted once, by a task of the spout that is
 * free. The spout requests one item at a time, when another tuple may be in flight. With a function, every start of the topology gets an
 * iterable of its own. From an asynchronous iterable some items are read ahead, and discarded at a stop. When the iterable
 * ends, the spout is done. When the iterable throws, its task crashes, and crashes again at every restart.
 *
 * @throws OptionError when a part of the definition is invalid
 * @example
 * // A Node stream yields chunks, but an item has to be an object with the fields. So the chunks become lines first.
 * async function* lines(): AsyncGenerator<{ text: string }> {
 *   for await (const text of createInterface({ input: createReadStream("words.txt") })) yield { text };
 * }
 * const words = spoutFrom(lines, { fields: { text: field.text } });
 * const orders = spoutFrom([{ item: "tea", n: 3 }], { stream: "orders", fields: { item: field.text, n: field.number } });
 */
export function spoutFrom<F extends Fields, N extends string = "items">(
  source: Source<ValuesOf<F>> | (() => Source<ValuesOf<F>>),
  options: IterableOptions<F, N>,
): SpoutDefinition<{ readonly [name in N]: F } & DeadStream<{ readonly [name in N]: F }, ValuesOf<F>>> {
  const open = typeof source === "function" ? source : () => source;
  if (typeof source !== "function") iteratorOf(source);
  only("", options, ["fields", "stream", "reliable", "ack", "fail", "config"]);
  const { reliable = true, ack, fail, config } = options;
  if (typeof reliable !== "boolean") throw new OptionError("reliable", reliable, "true or false");
  const stream = checkName("stream", options.stream ?? "items");
  type Item = ValuesOf<F>;
  const feedOf = (ctx: { readonly shared: Map<unknown, unknown> }): Feed<Item> => {
    let feed = ctx.shared.get(Feed) as Feed<Item> | undefined;
    if (feed === undefined) {
      feed = new Feed(iteratorOf(open()));
      ctx.shared.set(Feed, feed);
    }
    return feed;
  };
  const hooks: Hooks<SpoutContext<Fed<F>, Feed<Item>, Item>> = {
    close: ({ state, task }, final) => (final ? state.leave(task) : undefined),
    ...(config === undefined ? {} : { config }),
  };
  const made = spout<Fed<F>, Feed<Item>, Item>({
    ...hooks,
    streams: { [stream]: options.fields },
    loose: !reliable,
    init: (ctx) => {
      const feed = feedOf(ctx);
      feed.readers.add(ctx.task);
      return feed;
    },
    next: ({ emit, state, wake, done }) => {
      const item = state.take(wake);
      if (item !== undefined && (typeof item !== "object" || item === null))
        throw noItem(item, options.fields);
      if (item !== undefined) emit[stream]?.(item as never, reliable ? { id: item } : {});
      else if (state.ended) done();
    },
    ...(ack === undefined ? {} : { ack: (item: Item) => ack(item) }),
    ...(fail === undefined ? {} : { fail: (item: Item, _ctx, failure) => fail(item, failure) }),
  });
  return marked(
    made as unknown as SpoutDefinition<
      { readonly [name in N]: F } & DeadStream<{ readonly [name in N]: F }, ValuesOf<F>>
    >,
    { by: "iterable" },
  );
}

function noItem(item: unknown, fields: Fields): OptionError {
  const names = Object.keys(fields).join(", ");
  return new OptionError(
    "an item of the source",
    item,
    `an object with the fields ${names}; a stream yields chunks`,
  );
}

type Fed<F extends Fields> = Readonly<Record<string, F>>;

function iteratorOf<V>(source: Source<V>): Iterator<V> | AsyncIterator<V> {
  const given = source as Partial<Iterable<V> & AsyncIterable<V>> | null | undefined;
  const iterator = given?.[Symbol.asyncIterator]?.() ?? given?.[Symbol.iterator]?.();
  if (iterator !== undefined && typeof source !== "string") return iterator;
  throw new OptionError(
    "source",
    source,
    "an iterable or async iterable of objects, or a function that makes one",
  );
}

/** Items of an asynchronous iterator that are read ahead. */
const READ_AHEAD = 64;

/** An iterator, and its items that no task has taken yet. */
class Feed<V> {
  ended = false;
  /** The tasks that read the iterator, including those that are restarting. */
  readonly readers: Set<number> = new Set();
  readonly #iterator: Iterator<V> | AsyncIterator<V>;
  readonly #ready: V[] = [];
  readonly #wakes = new Set<() => void>();
  #asking = false;
  #failure: { readonly error: unknown } | undefined = undefined;

  constructor(iterator: Iterator<V> | AsyncIterator<V>) {
    this.#iterator = iterator;
  }

  /** The next item, if there is one. Otherwise `wake` is called when something has changed. */
  take(wake: () => void): V | undefined {
    if (!this.#asking && !this.ended && this.#failure === undefined && this.#ready.length < READ_AHEAD)
      this.#ask();
    const item = this.#ready.shift();
    if (item !== undefined) return item;
    if (this.#failure !== undefined) throw this.#failure.error;
    if (!this.ended) this.#wakes.add(wake);
    return undefined;
  }

  /** A task reads no more. The iterator is closed after the last task. */
  async leave(task: number): Promise<void> {
    this.readers.delete(task);
    if (this.readers.size > 0 || this.ended) return;
    this.ended = true;
    const returned = Promise.resolve(this.#iterator.return?.());
    // A generator that awaits something can close only after that, which may never happen.
    if (this.#asking) returned.catch(() => undefined);
    else await returned;
  }

  /** The topology has ended, for any reason. */
  [Symbol.asyncDispose](): Promise<void> {
    this.readers.clear();
    return this.leave(0);
  }

  #ask(): void {
    let result: IteratorResult<V, unknown> | Promise<IteratorResult<V, unknown>>;
    try {
      result = this.#iterator.next();
    } catch (error) {
      // After an error, an iterator would report that it is done.
      this.#failure = { error };
      return;
    }
    if (!isThenable(result)) {
      this.#came(result);
      return;
    }
    this.#asking = true;
    result.then(
      (one) => {
        this.#asking = false;
        this.#came(one);
        if (!this.ended && this.#ready.length < READ_AHEAD) this.#ask();
        this.#tell();
      },
      (error) => {
        this.#asking = false;
        this.#failure = { error };
        this.#tell();
      },
    );
  }

  #came({ done, value }: IteratorResult<V, unknown>): void {
    if (done === true) this.ended = true;
    else this.#ready.push(value as V);
  }

  #tell(): void {
    const wakes = [...this.#wakes];
    this.#wakes.clear();
    for (const wake of wakes) wake();
  }
}
