// Many callers, one write: a server gathers items by number or by time, writes them together, and gives each caller its own answer.

import {
  type Caller,
  type Context,
  defineServer,
  type NoReply,
  noReply,
  type ServerDefinition,
  task,
} from "signalbox";

/**
 * Writes many items at once, and answers for each of them, in their order: a value, or the Error of that item alone. A throw is the
 * answer for all of them.
 */
export type WriteAll<Item, Value> = (
  items: readonly Item[],
  signal: AbortSignal,
) => Promise<readonly (Value | Error)[]>;

export interface BatchOptions<Item, Value> {
  readonly write: WriteAll<Item, Value>;
  /** Most items of one write. Default 100. */
  readonly maxItems?: number;
  /** How long the first item of a batch waits for others. Default 10 ms. */
  readonly maxWaitMs?: number;
  /** How long one write may take. Default 2,000 ms. */
  readonly writeTimeoutMs?: number;
  /** Most requests in the mailbox: they come during a write, or all at once. One more gets a MailboxFullError. Default 1,000. */
  readonly maxWaiting?: number;
}

/** The call of a batcher: `await writer.call.add(item)`. */
export interface BatchCalls<Item, Value> {
  readonly add: (batch: Batch<Item, Value>, item: Item) => Promise<NoReply<Value>>;
}

/** Defines a batcher, to be a child of a supervisor. */
export function batcher<Item, Value>(
  options: BatchOptions<Item, Value>,
): ServerDefinition<[], BatchCalls<Item, Value>, object> {
  return defineServer({
    init: (ctx) => new Batch(ctx, options),
    calls: {
      async add(batch: Batch<Item, Value>, item: Item) {
        await batch.add(item, this.caller);
        return noReply<Value>();
      },
    },
    // The time of a batch is over. If that batch has gone by its number, the next one goes a little early.
    info: (batch) => batch.flush(),
    // A stop in order writes the items that wait. A crash writes none: their callers get a CalleeExitedError, and may retry.
    terminate: (batch, reason) => (reason.type === "shutdown" ? batch.flush() : undefined),
    trapExit: true,
    // The exit signal of a write that failed. `flush` gets the error of that write as its result.
    signals: { exit: () => undefined },
    mailbox: { capacity: options.maxWaiting ?? 1_000, overflow: "reject" },
    label: "batcher",
  });
}

/** The items that wait for the next write. */
class Batch<Item, Value> {
  private waiting: { readonly item: Item; readonly caller: Caller<unknown> }[] = [];
  private readonly ctx: Context<unknown>;
  private readonly options: BatchOptions<Item, Value>;

  constructor(ctx: Context<unknown>, options: BatchOptions<Item, Value>) {
    this.ctx = ctx;
    this.options = options;
  }

  async add(item: Item, caller: Caller<unknown>): Promise<void> {
    const { maxItems = 100, maxWaitMs = 10 } = this.options;
    this.waiting.push({ item, caller });
    if (this.waiting.length >= maxItems) await this.flush();
    else if (this.waiting.length === 1) this.ctx.sendAfter(this.ctx.self, "flush", maxWaitMs);
  }

  /** The server awaits this: requests that come meanwhile wait in the mailbox, and make the next batch. */
  async flush(): Promise<void> {
    // The item of a caller that has given up is left out: no caller would get its answer.
    const batch = this.waiting.filter(({ caller }) => caller.open);
    this.waiting = [];
    if (batch.length === 0) return;
    const { write, writeTimeoutMs: timeoutMs = 2_000 } = this.options;
    const items = batch.map(({ item }) => item);
    const result = await task(this.ctx, ({ signal }) => write(items, signal)).result({ timeoutMs });
    const answers = result.ok ? result.value : [];
    const problem = result.ok ? new Error("the write gave no answer for this item") : result.error;
    for (const [i, { caller }] of batch.entries()) {
      const answer = i < answers.length ? answers[i] : (causeOf(problem) ?? problem);
      if (answer instanceof Error) caller.refuse(answer);
      else caller.reply(answer);
    }
  }
}

/** What the write threw: the error of a task that crashed has it as its cause. */
const causeOf = ({ cause }: Error): Error | undefined => (cause instanceof Error ? cause : undefined);

/**
 * For a store that refuses a whole batch because of one item: writes the halves of a batch that was refused, until the bad item stands
 * alone. An item may be written twice, so the store has to recognise an item that it already has.
 *
 * @param isItemsFault - whether a smaller batch may help: not while the store is down
 */
export function halving<Item, Value>(
  write: WriteAll<Item, Value>,
  isItemsFault: (error: unknown) => boolean,
): WriteAll<Item, Value> {
  const attempt: WriteAll<Item, Value> = async (items, signal) => {
    try {
      return await write(items, signal);
    } catch (error) {
      if (!(error instanceof Error) || !isItemsFault(error)) throw error;
      if (items.length === 1) return [error];
      const half = Math.ceil(items.length / 2);
      const first = await attempt(items.slice(0, half), signal);
      return [...first, ...(await attempt(items.slice(half), signal))];
    }
  };
  return attempt;
}
