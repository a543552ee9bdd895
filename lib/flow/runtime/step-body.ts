// Bodies of steps: attempts with a limit on their time, an AbortSignal, and retries.

import { type Backoff, backoffMs } from "../../process/backoff.js";
import { duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";
import { isThenable } from "../../process/thenable.js";
import type { RetryOptions, StepContext, StepOptions } from "../definition/context.js";
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
    backoff: { ...RETRY_DEFAULTS.backoff, ...retry.backoff },
  };
}

/** When a step that failed runs again. Undefined: never. */
export function retryWait(plan: StepPlan, attempt: number, error: unknown, roll: number): number | undefined {
  if (attempt >= plan.attempts) return undefined;
  if (error instanceof OptionError || (error as { retriable?: unknown } | null)?.retriable === false)
    return undefined;
  return backoffMs(plan.backoff, attempt, roll);
}

/** Runs a function of the flow's process later; returns the call that cancels it. */
export type After = (ms: number, fn: () => void) => () => void;

/** What an attempt tells. Called once, unless the attempt was aborted. */
export type AttemptEnd = (ok: boolean, value: unknown) => void;

/** One attempt of a step. */
export class Attempt implements Running, StepContext {
  readonly key: string;
  readonly flowId: string;
  readonly attempt: number;
  readonly token: number;
  readonly #after: After;
  #controller: AbortController | undefined;
  #cancelTimer: (() => void) | undefined;
  #ended: AttemptEnd | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(
    after: After,
    { key, flowId, attempt, token }: Pick<StepContext, "key" | "flowId" | "attempt" | "token">,
    ended: AttemptEnd,
  ) {
    this.#after = after;
    this.key = key;
    this.flowId = flowId;
    this.attempt = attempt;
    this.token = token;
    this.#ended = ended;
  }

  get idempotencyKey(): string {
    return `${this.flowId}/${this.key}`;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  giveUp(reason: string, cause?: unknown): never {
    throw new NonRetriableError(`step "${this.key}": ${reason}`, { cause });
  }

  /** Runs the body. */
  run<T>(body: (step: StepContext) => T, timeoutMs: number): this {
    if (timeoutMs !== Number.POSITIVE_INFINITY)
      this.#cancelTimer = this.#after(timeoutMs, () => {
        const error = new StepTimeoutError(this.key, timeoutMs);
        this.#end(false, error);
        this.abort(error);
      });
    let result: T;
    try {
      result = body(this);
    } catch (error) {
      this.#end(false, error);
      return this;
    }
    if (isThenable(result))
      result.then(
        (value: unknown) => this.#end(true, value),
        (error: unknown) => this.#end(false, error),
      );
    else this.#end(true, result);
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
