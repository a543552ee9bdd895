// Adapters: what a route does with each message.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { callable } from "../../process/options.js";
import type { Condition } from "./condition.js";
import type { MessageId } from "./message-id.js";

/** The context of an attempt: the message at hand, and the effects of an adapter besides its result. */
export interface AdapterContext {
  /** The id of the message. */
  readonly id: MessageId;
  /** The same in every attempt at this message by this adapter, and in no other: give it to services that deduplicate. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt at this message in this route. Attempts that a crash interrupted count. */
  readonly attempt: number;
  /** The key of the message, if it has one: batches and aggregates can be made by key. */
  readonly key: string | undefined;
  /** The name of the pipeline. */
  readonly pipeline: string;
  /** The id of the execution. */
  readonly execution: string;
  /** The name of the route. */
  readonly route: string;
  /** Aborts when the attempt takes longer than its time limit, and when the execution is cancelled or leaves this host. */
  readonly signal: AbortSignal;
  /** Puts the message into the dead letters, even if retries are left. @throws DeadLetterError */
  giveUp(reason: string, cause?: unknown): never;
  /**
   * The value that this adapter remembers under a key in this execution; undefined: none. If several messages in work recall one key, one goes
   * on at a time: the next gets its answer when the message before it is settled or has failed.
   */
  recall(key: string): Promise<unknown>;
  /** Remembers a value under a key, in the commit that settles the message: never, if the attempt fails. Plain data. */
  remember(key: string, value: unknown): void;
  /** Waits by the system's clock. Rejects with the reason of `signal` when that aborts. */
  sleep(ms: number): Promise<void>;
  /**
   * Says that the attempt is alive, and how far it has come: plain data. The store has the last one within a second, `signalbox pipelines get`
   * shows it, and the next attempt of this adapter at the message gets it as `lastHeartbeat`. An attempt that has just written one is no
   * suspect when the program dies.
   *
   * @throws UnstorableValueError, PayloadTooLargeError
   * @example
   * const load = route("load", { from: queue<string[]>("files") }).via("load", async (lines, ctx) => {
   *   for (const [i, line] of lines.entries()) {
   *     if (i < Number(ctx.lastHeartbeat ?? 0)) continue;
   *     console.log(line);
   *     ctx.heartbeat(i + 1);
   *   }
   * });
   */
  heartbeat(progress?: unknown): void;
  /** The last heartbeat of an earlier attempt of this adapter at the message, also before a crash if it was written. Undefined: there was none. */
  readonly lastHeartbeat: unknown;
  /** @internal The system on which the adapter runs. */
  readonly kernel: Kernel;
}

/**
 * Several values instead of one: each goes on through the route as a message of its own. See {@link many}.
 */
export class Many<out O> {
  /** The values, in order. */
  readonly values: readonly Item<O>[];
  /** @internal Use {@link many}. */
  constructor(values: readonly Item<O>[]) {
    this.values = values;
  }
}

/** One value of {@link many}, with the key of its message. */
export interface Item<out O> {
  /** The value. */
  readonly value: O;
  /** The key of the message. Default: that of the message at hand. */
  readonly key?: string | undefined;
}

/** The result of an adapter: a value that goes on, several of them, or `undefined` if nothing goes on. */
export type Adapted<O> = O | Many<O> | undefined;

/** An adapter with a name, which lineage, metrics and errors show. */
export interface Adapter<in I = never, out O = unknown> {
  /** Names the adapter in its route. */
  readonly name: string;
  /**
   * Called with the value of each message. If it throws, the message is retried, as the policy of the route says, and goes into the dead
   * letters when its attempts are used up.
   */
  process(value: I, ctx: AdapterContext): Adapted<O> | PromiseLike<Adapted<O>>;
  /** Called once before the first message, on each host that runs the route, and again after a crash. */
  open?(signal: AbortSignal): void | PromiseLike<void>;
  /** Called when the route ends on this host. */
  close?(): void | PromiseLike<void>;
}

/** The context of a batch. */
export interface BatchContext extends Omit<AdapterContext, "id" | "attempt" | "heartbeat" | "lastHeartbeat"> {
  /** The ids of the messages, in the order of the values. */
  readonly ids: readonly MessageId[];
  /**
   * The value that this adapter remembers under a key in this execution; undefined: none. If several batches in work recall one key, one
   * goes on at a time. So recall several keys in one order, for example sorted: otherwise two batches may wait for each other until the
   * time limit of their attempts.
   */
  recall(key: string): Promise<unknown>;
  /** Remembers a value under a key, in the commit that settles the batch: never, if none of its messages is settled. Plain data. */
  remember(key: string, value: unknown): void;
  /** Fails one message of the batch: it is retried or put into the dead letters alone, and the others are settled. */
  fail(index: number, error: unknown): void;
}

/** When a batch is full. The first limit that is reached counts. */
export interface BatchLimits {
  /** Most messages of a batch, 1 or more. */
  readonly size: number;
  /** Most bytes of a batch, as the payload codec writes its values. Default: no limit. */
  readonly bytes?: number;
  /** A batch that is not full is processed this many milliseconds after its first message. Default 5,000. */
  readonly everyMs?: number;
  /** One batch for each key of the messages. Default false. */
  readonly byKey?: boolean;
}

/**
 * An adapter that gathers messages. Its messages stay in the ledger until the batch is processed, and are settled together with the
 * results in one commit. A batch whose body throws is processed again message by message, so that one bad message fails alone.
 */
export interface BatchAdapter<in I = never, out O = unknown> {
  /** Names the adapter in its route. */
  readonly name: string;
  /** When a batch is full. */
  readonly batch: BatchLimits;
  /** Called with the values of a batch. The results go on through the route; they have the batch's first message as parent. */
  processBatch(
    values: readonly I[],
    ctx: BatchContext,
  ): readonly O[] | undefined | PromiseLike<readonly O[] | undefined>;
  /** As in {@link Adapter}. */
  open?(signal: AbortSignal): void | PromiseLike<void>;
  /** As in {@link Adapter}. */
  close?(): void | PromiseLike<void>;
}

/** One adapter of a route, and the condition under which a message passes through it. */
export interface Stage {
  /** The adapter. */
  readonly adapter: Adapter | BatchAdapter;
  /** Messages for which it is false pass by the adapter unchanged. */
  readonly when: Condition | undefined;
}

/**
 * Several values instead of one: each goes on as a message of its own.
 *
 * @param key - gives the key of each message. Default: they keep the key of the message at hand
 * @example
 * const split = (line: string) => many(line.split(" "), (word) => word);
 */
export function many<O>(values: Iterable<O>, key?: (value: O, index: number) => string | undefined): Many<O> {
  // A text is iterable, too: it gives its characters.
  if (
    typeof values !== "string" &&
    !(typeof values === "object" && values !== null && Symbol.iterator in values)
  )
    throw new OptionError("values", values, "an array, or something else that can be iterated");
  if (key !== undefined) callable("key", key, "a function of the value");
  let i = 0;
  return new Many(
    Array.from(values, (value) => (key === undefined ? { value } : { value, key: key(value, i++) })),
  );
}
