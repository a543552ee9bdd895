// Retry policies: a function is called again after it has failed, with growing waits and within limits.

import { type Backoff, checkBackoff } from "../../process/backoff.js";
import type { Kernel } from "../../process/kernel.js";
import { checked, fn, maybe, ms, whole } from "../../process/option-schema.js";
import { kernelOf, text } from "../../process/options.js";
import { retryAfterOf } from "../../process/retry-after.js";
import type { ProcessSystem } from "../../process/system.js";
import { share } from "./breaker-options.js";
import { PROTECTION_DEFAULTS } from "./defaults.js";
import { isA, RetryDeadlineError } from "./errors.js";
import { guard, type Policy } from "./guard.js";
import { PROTECTION_METRICS } from "./metrics.js";
import { decide, initial, type RetryConfig } from "./retry-machine.js";
import { type Scope, sleep, within } from "./scope.js";
import { TimeWindow } from "./window.js";

/** Limits retries to a share of the calls, so that retries do not multiply the load on a service that fails. */
export interface RetryBudget {
  /** So many retries for each call, more than 0 and at most 1: 0.2 is one retry for five calls. */
  readonly ratio: number;
  /** As many retries within the window are allowed however few calls there are, 0 or more. Default 3. */
  readonly minimum?: number;
  /** The calls and retries of this many last milliseconds count. Default 10,000. */
  readonly windowMs?: number;
}

/** Options of a retry policy. */
export interface RetryOptions {
  /** How often the function is called at most, the first time included. Default 3. */
  readonly attempts?: number;
  /** The waits between attempts. Default 100 to 10,000 ms, with a jitter of a half. */
  readonly backoff?: Backoff;
  /** An attempt that takes longer is cancelled, and has failed. Default `Infinity`. */
  readonly timeoutMs?: number;
  /** All attempts and waits together take no longer; the call rejects with RetryDeadlineError. Default `Infinity`. */
  readonly deadlineMs?: number;
  /** Whether another attempt may help. Default: always. */
  readonly retryIf?: (error: unknown, attempt: number) => boolean;
  /**
   * How many milliseconds to wait at least, as the error says. Default: its property `retryAfterMs`, if that is a number, as
   * CircuitOpenError and RateLimitError have it; or else the header `Retry-After` of its `response`, in seconds or as a date.
   */
  readonly retryAfterMs?: (error: unknown) => number | undefined;
  /** An error that asks for a longer wait ends the call. Default 60,000. */
  readonly maxRetryAfterMs?: number;
  /** Limits the retries of all calls together. Default: no limit. */
  readonly budget?: RetryBudget;
  /** The name of the policy in metrics. Default `retry`. */
  readonly label?: string;
}

interface Settings {
  readonly label: string;
  readonly config: RetryConfig;
  readonly timeoutMs: number;
  readonly retryIf: (error: unknown, attempt: number) => boolean;
  readonly retryAfterMs: (error: unknown, wallMs: number) => number | undefined;
  readonly budget: Required<RetryBudget> | undefined;
}

/** Retries of all calls of one policy. */
class Budget {
  readonly #calls: TimeWindow;
  readonly #retries: TimeWindow;
  readonly #rule: Required<RetryBudget>;

  constructor(rule: Required<RetryBudget>) {
    this.#rule = rule;
    this.#calls = new TimeWindow(rule.windowMs);
    this.#retries = new TimeWindow(rule.windowMs);
  }

  called(now: number): void {
    this.#calls.add(COUNTED, now);
  }

  retried(now: number): void {
    this.#retries.add(COUNTED, now);
  }

  allows(now: number): boolean {
    const { ratio, minimum } = this.#rule;
    return (
      this.#retries.tally(now).total < Math.max(minimum, Math.floor(ratio * this.#calls.tally(now).total))
    );
  }
}

const COUNTED = { failed: false, slow: false } as const;

/** The result of `retryPolicy`. */
export interface RetryDefinition {
  /** The policy for one system. Its calls share the budget. */
  local(system: ProcessSystem): Policy;
}

/**
 * Defines a retry policy. The call rejects with the error of its last attempt. When the caller gives up, it ends at once, in an
 * attempt as well as between two.
 *
 * Put it around a circuit breaker: `retry(breaker(fn))`. Then each attempt counts in the breaker, and while that is open the
 * policy waits as long as the breaker says. `breaker(retry(fn))` counts a call once, after its last attempt.
 *
 * @throws OptionError
 * @see "Timeouts, retries, and backoff with jitter" in the Amazon Builders' Library
 * @example
 * const retry = retryPolicy({ attempts: 4, deadlineMs: 10_000 }).local(system);
 * const page = await retry(async ({ signal }, url: string) => (await fetch(url, { signal })).text())("https://example.com");
 */
export function retryPolicy(options: RetryOptions = {}): RetryDefinition {
  const settings = checkRetry(options);
  return { local: (system) => policyOf(kernelOf(system), settings) };
}

function policyOf(kernel: Kernel, settings: Settings): Policy {
  const { label } = settings;
  const { deadlineMs } = settings.config;
  const budget = settings.budget && new Budget(settings.budget);
  if (budget !== undefined) kernel.shared?.created(budget);
  const policy = (inner: unknown): unknown =>
    guard(kernel, inner, (scope, run) => {
      const progress: Progress = { attempts: 1, error: undefined };
      const late = (): unknown => new RetryDeadlineError(deadlineMs, progress.attempts, progress.error);
      return within(kernel, scope, deadlineMs, late, async (own) => {
        try {
          const value = await attempts(kernel, own, settings, budget, run, progress);
          kernel.taps?.count(PROTECTION_METRICS.retryCalls, 1, label, "success");
          return value;
        } catch (error) {
          kernel.taps?.count(PROTECTION_METRICS.retryCalls, 1, label, failureOf(own));
          throw error;
        }
      });
    });
  return policy as Policy;
}

/** How a call that rejects ended. */
function failureOf({ cancelled }: Scope): "failure" | "deadline" | "left" {
  if (cancelled === undefined) return "failure";
  return isA(cancelled.reason, RetryDeadlineError) ? "deadline" : "left";
}

/** The state of the call when the deadline comes. */
interface Progress {
  attempts: number;
  error: unknown;
}

async function attempts(
  kernel: Kernel,
  scope: Scope,
  settings: Settings,
  budget: Budget | undefined,
  run: (scope: Scope) => Promise<unknown>,
  progress: Progress,
): Promise<unknown> {
  const { env } = kernel;
  let machine = initial(settings.config, env.now());
  if (budget !== undefined) kernel.shared?.object(budget, "write");
  budget?.called(env.now());
  for (;;) {
    try {
      const value = await within(kernel, scope, settings.timeoutMs, undefined, run, machine.attempt);
      kernel.taps?.count(PROTECTION_METRICS.retryAttempts, 1, settings.label, "success");
      return value;
    } catch (error) {
      if (scope.cancelled !== undefined) throw scope.cancelled.reason;
      kernel.taps?.count(PROTECTION_METRICS.retryAttempts, 1, settings.label, "failure");
      progress.error = error;
      const now = env.now();
      if (budget !== undefined) kernel.shared?.object(budget, "write");
      const [next, [effect]] = decide(machine, {
        type: "failed",
        now,
        roll: env.random(),
        isRetryable: settings.retryIf(error, machine.attempt),
        retryAfterMs: settings.retryAfterMs(error, env.wallTime()),
        hasBudget: budget?.allows(now) ?? true,
      });
      machine = next;
      if (effect?.type !== "retry") throw error;
      budget?.retried(now);
      await sleep(kernel, scope, effect.inMs);
      progress.attempts = effect.attempt;
    }
  }
}

const BUDGET_CHECKS = { ratio: share, minimum: whole(0), windowMs: ms(1) };
const { budgetMinimum, budgetWindowMs, ...LIMITS } = PROTECTION_DEFAULTS.retry;

const CHECKS = {
  attempts: whole(1, Number.POSITIVE_INFINITY),
  backoff: checkBackoff,
  timeoutMs: ms(1, Number.POSITIVE_INFINITY),
  deadlineMs: ms(1, Number.POSITIVE_INFINITY),
  retryIf: fn<Settings["retryIf"]>("a function of the error"),
  retryAfterMs: fn<Settings["retryAfterMs"]>("a function of the error"),
  maxRetryAfterMs: ms(0, Number.POSITIVE_INFINITY),
  budget: maybe((path, given) =>
    checked(path, given as RetryBudget, BUDGET_CHECKS, { minimum: budgetMinimum, windowMs: budgetWindowMs }),
  ),
  label: text,
};
const DEFAULTS = { ...LIMITS, label: "retry", retryIf: () => true, retryAfterMs: retryAfterOf };

/** @throws OptionError */
function checkRetry(given: RetryOptions): Settings {
  const options = checked("", given, CHECKS, DEFAULTS);
  const { label, timeoutMs, retryIf, retryAfterMs, budget, ...config } = options;
  return {
    label,
    timeoutMs,
    retryIf,
    budget,
    config,
    retryAfterMs: (error, wallMs) => {
      const ms = retryAfterMs(error, wallMs);
      // A server may send any value: neither NaN nor a time in the past is a wait.
      return typeof ms === "number" && ms > 0 ? ms : undefined;
    },
  };
}
