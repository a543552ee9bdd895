// A batch in the hands of a worker: its values through the batch adapter, and the results through the adapters behind it.

import { InvariantError } from "../../process/errors.js";
import { isThenable } from "../../process/thenable.js";
import type { BatchContext, Item } from "../definition/adapter.js";
import type { Remembered } from "../ledger/ledger.js";
import type { CallRecord } from "../ledger/lineage.js";
import { type AttemptContext, type Hashes, hashesOf, type RouteAttempt, toTheEnd } from "./attempt.js";
import type { BatchPlan } from "./plan.js";
import type { Batch } from "./processor-machine.js";

/** The outcome of a batch. */
export type BatchOutcome =
  | {
      readonly type: "emitted";
      readonly items: readonly Item<unknown>[];
      /** Messages that failed alone, by their number in the batch. */
      readonly failures: ReadonlyMap<number, unknown>;
      /** The call of the batch adapter and those behind it, if calls are recorded. */
      readonly calls: readonly CallRecord[] | undefined;
      /** The values that the batch adapter, and those behind it, want to be remembered. */
      readonly remember: readonly Remembered[] | undefined;
    }
  | { readonly type: "failed"; readonly error: unknown }
  /** A breaker did not admit the call: it does not count. */
  | { readonly type: "held" };

/** A batch that a worker was given. `outcome` is written by the worker and read by the processor. */
export interface BatchRun {
  readonly worker: number;
  readonly batch: Batch;
  outcome: BatchOutcome | undefined;
  /** The attempt at the batch, as soon as it has begun. */
  atHand: RouteAttempt | undefined;
  /** The processor was notified of the outcome. */
  isTold: boolean;
  /** How long it took, in milliseconds, if attempts are measured. */
  tookMs: number;
}

const NO_HASHES: Hashes = {};

/** Calls the adapter with a batch. Synchronous as long as adapters are. Never throws. */
export function emitBatch(
  { adapter, rest }: BatchPlan,
  context: AttemptContext,
  attempt: RouteAttempt,
  batch: Batch,
): BatchOutcome | Promise<BatchOutcome> {
  const owners: number[] = [];
  const values: unknown[] = [];
  for (const [i, { items }] of batch.members.entries())
    for (const { value } of items) {
      owners.push(i);
      values.push(value);
    }
  const failures = new Map<number, unknown>();
  attempt.beginBatch(adapter.name);
  const { hash } = context;
  // Before the call, which may change it.
  const input = hash?.(values);
  const startedMs = context.clock?.() ?? 0;
  const failed = (error: unknown): BatchOutcome => ({ type: "failed", error });
  const emitted = (items: readonly Item<unknown>[]): BatchOutcome => ({
    type: "emitted",
    items,
    failures,
    calls: attempt.calls,
    remember: attempt.remembered,
  });
  const behind = (given: unknown): BatchOutcome | Promise<BatchOutcome> => {
    const results = resultsOf(adapter.name, given);
    const gave = results.length;
    const hashes = hash === undefined ? NO_HASHES : hashesOf(hash, input, gave === 0 ? undefined : results);
    attempt.recordBatch(adapter.name, startedMs, gave, hashes);
    const wait = attempt.beginWith(
      rest,
      results.map((value) => ({ value, key: batch.key })),
    );
    return wait === undefined ? emitted(attempt.items) : toTheEnd(attempt, wait).then(emitted, failed);
  };
  const ctx = batchContextOf(attempt, batch, (index, error) => {
    const owner = owners[index];
    if (owner === undefined)
      throw new RangeError(`ctx.fail(${index}): the batch has ${values.length} values`);
    failures.set(owner, error);
  });
  try {
    const given = attempt.guarded(adapter.name, () => adapter.processBatch(values as never, ctx));
    return isThenable(given) ? Promise.resolve(given).then(behind).catch(failed) : behind(given);
  } catch (error) {
    return failed(error);
  }
}

function resultsOf(adapter: string, given: unknown): readonly unknown[] {
  if (given === undefined) return [];
  if (Array.isArray(given)) return given;
  throw new TypeError(`adapter ${adapter}: a batch gives a list of results, or undefined`);
}

/** The context of a call, which is that of its attempt but for what the messages of the batch have together. */
function batchContextOf(
  attempt: RouteAttempt,
  { key, members }: Batch,
  fail: BatchContext["fail"],
): BatchContext {
  const { pipeline, execution, route, adapter, kernel } = attempt;
  const [first, last] = [members[0], members.at(-1)];
  if (first === undefined || last === undefined) throw new InvariantError("a batch has messages");
  return {
    get ids() {
      return members.flatMap(({ message, items }) => items.map(() => message.id));
    },
    idempotencyKey: `${execution}/${first.message.id}..${last.message.id}*${members.length}/${adapter}`,
    key,
    pipeline,
    execution,
    route,
    kernel,
    get signal() {
      return attempt.signal;
    },
    fail,
    giveUp: (reason, cause) => attempt.giveUp(reason, cause),
    recall: (name) => attempt.recall(name),
    remember: (name, value) => attempt.remember(name, value),
    sleep: (ms) => attempt.sleep(ms),
  };
}
