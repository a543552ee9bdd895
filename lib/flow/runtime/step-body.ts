// Bodies of steps: attempts with a limit on their time, an AbortSignal, and retries.

import { type Backoff, backoffMs, checkBackoff } from "../../process/backoff.js";
import { duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { processSignal } from "../../process/process-signal.js";
import { askedWait } from "../../process/retry-after.js";
import { isThenable } from "../../process/thenable.js";
import { classOf, passes, passingWait, toldIn } from "../../store/error-classes.js";
import {
  type SqlTransaction,
  StoreError,
  TransactionEndedError,
  TransactionTimeoutError,
} from "../../store/index.js";
import type { RetryOptions, StepContext, StepOptions } from "../definition/context.js";
import { kindOfStore, type SymptomKind } from "../hospital/symptom.js";
import type { Running } from "./call.js";
import { NonRetriableError, StepTimeoutError } from "./errors.js";

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

/** @throws OptionError */
export function stepPlan(
  options: StepOptions | undefined,
  known: readonly string[] = ["retry", "timeout"],
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

/** What an attempt uses of the flow's process. */
export interface AttemptPort {
  /** Runs a function later; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** Runs a listener of the user as code of the process. */
  perform(code: () => void): void;
  /** A key as a part of ids outside of the journal. */
  outside(key: string): string;
  /** The step is alive. */
  beat(key: string, progress: unknown): void;
}

/** Gets the end of an attempt. Called once, unless the attempt was aborted. */
export type AttemptEnd = (ok: boolean, value: unknown) => void;

/** One attempt of a step. */
export class Attempt implements Running, StepContext {
  readonly key: string;
  readonly flowId: string;
  readonly attempt: number;
  readonly token: number;
  readonly lastHeartbeat: unknown;
  readonly #port: AttemptPort;
  #controller: AbortController | undefined;
  #cancelTimer: (() => void) | undefined;
  #ended: AttemptEnd | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(
    port: AttemptPort,
    of: Pick<StepContext, "key" | "flowId" | "attempt" | "token" | "lastHeartbeat">,
    ended: AttemptEnd,
  ) {
    this.#port = port;
    this.key = of.key;
    this.flowId = of.flowId;
    this.attempt = of.attempt;
    this.token = of.token;
    this.lastHeartbeat = of.lastHeartbeat;
    this.#ended = ended;
  }

  get idempotencyKey(): string {
    return `${this.flowId}/${this.#port.outside(this.key)}`;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = processSignal((listener) => this.#port.perform(listener));
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  heartbeat(progress?: unknown): void {
    // An attempt that has ended is not alive.
    if (this.#ended !== undefined) this.#port.beat(this.key, progress);
  }

  giveUp(reason: string, cause?: unknown): never {
    throw new NonRetriableError(`step "${this.key}": ${String(reason)}`, { cause });
  }

  /** Runs the body. */
  run<T>(body: (step: StepContext) => T, timeoutMs: number): this {
    if (timeoutMs !== Number.POSITIVE_INFINITY)
      this.#cancelTimer = this.#port.after(timeoutMs, () => {
        const error = new StepTimeoutError(this.key, timeoutMs);
        this.#end(false, error);
        this.abort(error);
      });
    let result: T;
    try {
      result = body(this);
      if (isThenable(result)) {
        // A thenable of the user's own may call back twice, throw, or give another thenable: a promise takes care of it.
        const promise = result instanceof Promise ? result : Promise.resolve(result);
        promise.then(
          (value: unknown) => this.#end(true, value),
          (error: unknown) => this.#end(false, error),
        );
        return this;
      }
    } catch (error) {
      this.#end(false, error);
      return this;
    }
    this.#end(true, result);
    return this;
  }

  abort(reason: unknown): void {
    this.#ended = undefined;
    this.#cancelTimer?.();
    this.#aborted ??= { reason };
    this.#controller?.abort(reason);
  }

  #end(ok: boolean, value: unknown): void {
    const ended = this.#ended;
    this.#ended = undefined;
    this.#cancelTimer?.();
    ended?.(ok, value);
  }
}
