// The gathering of a batch adapter on one host. Messages are held until their batch is full, its time is over, or nothing but held
// messages is left of the execution; then the batch is due. Held messages are live in the ledger: a crash gives them back.
//
//   size, bytes    a message that makes its batch reach a limit makes it due; one that would go beyond `bytes` comes into the next batch
//   everyMs        counted from the first message of the batch
//   by key         one batch for each key
//   most held      beyond it the oldest batch becomes due, so that many keys fill no memory
//
// The tables are changed in place: a state is used once.

import { OptionError } from "../../process/errors.js";
import type { Item } from "../definition/adapter.js";
import type { BatchSettings } from "../definition/resolve.js";

/** Something to gather: a message, with the values that it has in the batch. */
export interface BatchItem<M> {
  readonly message: M;
  /** How many values it has. */
  readonly values: number;
  /** How many bytes they have; 0 if they are not counted. */
  readonly bytes: number;
}

export interface BatchingConfig {
  readonly size: number;
  readonly bytes: number;
  readonly everyMs: number;
  /** Most messages that wait in batches. */
  readonly mostHeld: number;
}

/** A batch that is not due. */
interface Open<M> {
  readonly messages: M[];
  values: number;
  bytes: number;
}

export interface BatchingState<M> {
  readonly config: BatchingConfig;
  /** Batches by key, the oldest first. */
  readonly open: Map<string, Open<M>>;
  held: number;
}

export type BatchingEvent<M> =
  | { readonly type: "add"; readonly key: string; readonly item: BatchItem<M> }
  /** The time of the batch of a key is over. */
  | { readonly type: "late"; readonly key: string }
  /** All batches are due. */
  | { readonly type: "flush" };

export type BatchingEffect<M> =
  /** A batch is to be processed. */
  | { readonly type: "due"; readonly key: string; readonly messages: readonly M[] }
  /** A batch has begun: `late` after so many milliseconds, unless it is due before. */
  | { readonly type: "set timer"; readonly key: string; readonly ms: number }
  | { readonly type: "cancel timer"; readonly key: string };

export function initial<M>(config: BatchingConfig): BatchingState<M> {
  return { config, open: new Map(), held: 0 };
}

export function decide<M>(
  state: BatchingState<M>,
  event: BatchingEvent<M>,
): [BatchingState<M>, readonly BatchingEffect<M>[]] {
  const effects: BatchingEffect<M>[] = [];
  switch (event.type) {
    case "add":
      add(state, event.key, event.item, effects);
      break;
    case "late":
      due(state, event.key, effects);
      break;
    case "flush":
      for (const key of [...state.open.keys()]) due(state, key, effects);
      break;
    default:
      event satisfies never;
  }
  return [state, effects];
}

function add<M>(
  state: BatchingState<M>,
  key: string,
  { message, values, bytes }: BatchItem<M>,
  effects: BatchingEffect<M>[],
): void {
  const { config, open } = state;
  const before = open.get(key);
  if (before !== undefined && before.bytes + bytes > config.bytes) due(state, key, effects);
  let batch = open.get(key);
  if (batch === undefined) {
    batch = { messages: [], values: 0, bytes: 0 };
    open.set(key, batch);
    effects.push({ type: "set timer", key, ms: config.everyMs });
  }
  batch.messages.push(message);
  batch.values += values;
  batch.bytes += bytes;
  state.held++;
  if (batch.values >= config.size || batch.bytes >= config.bytes) due(state, key, effects);
  const [oldest] = open.keys();
  if (state.held > config.mostHeld && oldest !== undefined) due(state, oldest, effects);
}

function due<M>(state: BatchingState<M>, key: string, effects: BatchingEffect<M>[]): void {
  const batch = state.open.get(key);
  if (batch === undefined) return;
  state.open.delete(key);
  state.held -= batch.messages.length;
  effects.push({ type: "cancel timer", key }, { type: "due", key, messages: batch.messages });
}

/**
 * The batch to which the values of a message belong, and how many bytes they have: 0 if bytes are not counted.
 *
 * @throws OptionError when values of one message belong into different batches
 */
export function batchPlaceOf(
  { byKey, bytes }: BatchSettings,
  items: readonly Item<unknown>[],
  bytesOf: (value: unknown) => number,
): { readonly key: string; readonly bytes: number } {
  const key = byKey ? (items[0]?.key ?? "") : "";
  if (byKey && items.some((item) => (item.key ?? "") !== key))
    throw new OptionError(
      "key",
      items.map((item) => item.key),
      "the same for all values of a message: batches by key follow in a route of their own",
    );
  const isCounted = bytes < Number.POSITIVE_INFINITY;
  return { key, bytes: isCounted ? items.reduce((sum, { value }) => sum + bytesOf(value), 0) : 0 };
}
