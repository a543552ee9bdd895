// The plan of a step: how many attempts it has, how long each may take, and when the next one runs.

import { type Backoff, backoffMs, checkBackoff } from "../../process/backoff.js";
import { duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { askedWait } from "../../process/retry-after.js";
import { classOf, passes, passingWait, toldIn } from "../../store/error-classes.js";
import {
  type SqlTransaction,
  StoreError,
  TransactionEndedError,
  TransactionTimeoutError,
} from "../../store/index.js";
import type { RetryOptions, StepOptions } from "../definition/context.js";
import { kindOfStore, type SymptomKind } from "../hospital/symptom.js";

/** The retries of a step that asks for retries and says no more. */
export const RETRY_DEFAULTS: { readonly attempts: number; readonly backoff: Backoff } = {
  attempts: 3,
  backoff: { minMs: 1_000, maxMs: 300_000, factor: 2, jitter: 0.1 },
};

/** Options of a step, checked. */
export interface StepPlan {
  readonly attempts: number;
  readonly backoff: Backoff;
  readonly timeoutMs: number;
  /** Each attempt may take this many times as long as the one before. Default 1. */
  readonly timeoutFactor?: number;
}

const ONCE: StepPlan = { attempts: 1, backoff: RETRY_DEFAULTS.backoff, timeoutMs: Number.POSITIVE_INFINITY };

/** The options of all steps. */
export const STEP_OPTIONS: readonly string[] = ["retry", "timeout"];

/** @throws OptionError */
export function stepPlan(
  options: StepOptions | undefined,
  known: readonly string[] = STEP_OPTIONS,
): StepPlan {
  if (options === undefined) return ONCE;
  only("", options, known);
  const { retry, timeout } = options;
  return {
    ...(retry === undefined ? ONCE : retryPlan(retry)),
    timeoutMs: timeout === undefined ? Number.POSITIVE_INFINITY : duration("timeout", timeout),
  };
}

function retryPlan(retry: RetryOptions): { attempts: number; backoff: Backoff } {
  only("retry", retry, ["attempts", "backoff"]);
  return {
    attempts: count("retry.attempts", retry.attempts ?? RETRY_DEFAULTS.attempts, 1, true),
    backoff: retry.backoff === undefined ? RETRY_DEFAULTS.backoff : backoffPlan(retry.backoff),
  };
}

function backoffPlan(given: Partial<Backoff>): Backoff {
  only("retry.backoff", given, ["minMs", "maxMs", "factor", "jitter", "resetAfterMs"]);
  const backoff = { ...RETRY_DEFAULTS.backoff, ...given };
  const longest = given.maxMs ?? Math.max(backoff.maxMs, backoff.minMs);
  return checkBackoff("retry.backoff", { ...backoff, maxMs: longest });
}

/**
 * When a step that failed runs again: no sooner than its error asks for. Undefined: never.
 *
 * @param wallMs - milliseconds since 1970
 */
export function retryWait(
  plan: StepPlan,
  attempt: number,
  error: unknown,
  roll: number,
  wallMs: number,
): number | undefined {
  if (attempt >= plan.attempts) return undefined;
  if (error instanceof OptionError || (error as { retriable?: unknown } | null)?.retriable === false)
    return undefined;
  return Math.max(backoffMs(plan.backoff, attempt, roll), askedWait(error, wallMs));
}

/** A transaction that failed for the store's sake: as what the hospital has to treat it. */
export interface StoreFailure {
  readonly kind: SymptomKind;
  /** Others were in the way: it is for the host to try again, and not for the hospital. */
  readonly isCrowd: boolean;
}

/** After so many attempts the hospital has it: that takes the better part of an hour. */
const CROWD_ATTEMPTS = 100;

/** When a transaction runs again that others were in the way of. Undefined: not by itself. */
export function crowdWait(
  plan: StepPlan,
  attempt: number,
  { isCrowd }: StoreFailure,
  roll: number,
): number | undefined {
  const tries = attempt - plan.attempts + 1;
  return isCrowd && tries <= CROWD_ATTEMPTS ? passingWait(tries, roll) : undefined;
}

/**
 * Whether the store could not carry out a transaction, for a reason that may be gone when the flow runs again. Undefined: the code of the
 * user has failed, or its own limit on time was over.
 *
 * @param error - with which the transaction ended
 * @param thrown - what its body threw, if it did
 * @param tx - what the body was given last
 */
export function storeFailure(
  error: unknown,
  { thrown, tx }: { readonly thrown: unknown; readonly tx: SqlTransaction | undefined },
  plan: StepPlan,
): StoreFailure | undefined {
  // The body may use databases of its own: their errors are its own errors. It may also pass on, or wrap, an error of its statements.
  const isBodys =
    (error === thrown && !(error instanceof TransactionEndedError)) ||
    (thrown !== undefined && error instanceof StoreError && error.cause === thrown);
  const failure = isBodys ? tx && toldIn(tx, thrown) : error;
  const found = classOf(failure);
  if (!passes(found)) return undefined;
  if (error instanceof TransactionTimeoutError && plan.timeoutMs !== Number.POSITIVE_INFINITY)
    return undefined;
  return { kind: kindOfStore(failure), isCrowd: found === "contention" || found === "timeout" };
}
