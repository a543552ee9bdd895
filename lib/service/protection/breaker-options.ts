// The options of a circuit breaker, and their checks.

import { type Backoff, checkBackoff } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import { checked, fn, maybe, ms, whole } from "../../process/option-schema.js";
import { text } from "../../process/options.js";
import type { BreakerConfig, Verdict } from "./breaker-machine.js";
import { PROTECTION_DEFAULTS } from "./defaults.js";
import { BulkheadFullError, CircuitOpenError, isA, RateLimitError } from "./errors.js";

/** How a guarded call ended. */
export type CallOutcome =
  | {
      readonly ok: true;
      /** The result of the function. */
      readonly value: unknown;
      /** How long the call took, in milliseconds. */
      readonly durationMs: number;
    }
  | {
      readonly ok: false;
      /** The error of the function, or the reason for which the attempt was cancelled. */
      readonly error: unknown;
      /** How long the call took, in milliseconds. */
      readonly durationMs: number;
    };

/** Options of a circuit breaker. */
export interface BreakerOptions {
  /** The name of the breaker in errors, events and reports. Default `breaker`. */
  readonly label?: string;
  /** The calls of this many last milliseconds count, to a tenth of that. Default 10,000. */
  readonly windowMs?: number;
  /** The last so many calls count, instead of a window of time. */
  readonly windowCalls?: number;
  /** With fewer calls in the window the breaker stays closed. Default 10. */
  readonly minimumCalls?: number;
  /** The breaker opens when this share of the calls has failed, more than 0 and at most 1. Default 0.5. */
  readonly failureRate?: number;
  /** A call that takes this many milliseconds or more is slow. Default `Infinity`: none is. */
  readonly slowMs?: number;
  /** The breaker opens when this share of the calls was slow, more than 0 and at most 1. Default 1. */
  readonly slowRate?: number;
  /** An attempt that takes longer is cancelled, and has failed. `Infinity` for no limit. Default 10,000. */
  readonly timeoutMs?: number;
  /**
   * How long the breaker stays open: `minMs` at first, longer each time that its probes fail. Default 5,000 to 60,000 ms, with a
   * jitter of a tenth.
   */
  readonly backoff?: Backoff;
  /** How many calls a half-open breaker admits. When all of them have succeeded, it closes. Default 1. */
  readonly probes?: number;
  /**
   * The meaning of a call's end for the service behind the breaker. Default: an error is a `failure`, except for refusals of
   * policies inside the breaker. A call that its own caller gave up is always ignored.
   */
  readonly judge?: (outcome: CallOutcome) => Verdict;
}

/** The options of a breaker, checked and complete. */
export interface BreakerSettings {
  readonly label: string;
  readonly timeoutMs: number;
  readonly judge: (outcome: CallOutcome) => Verdict;
  readonly config: BreakerConfig;
}

const CHECKS = {
  label: text,
  windowMs: ms(1),
  windowCalls: maybe(whole(1)),
  minimumCalls: whole(1),
  failureRate: share,
  slowMs: ms(0, Number.POSITIVE_INFINITY),
  slowRate: share,
  timeoutMs: ms(1, Number.POSITIVE_INFINITY),
  backoff: checkBackoff,
  probes: whole(1),
  judge: fn<(outcome: CallOutcome) => Verdict>("a function of the outcome"),
};
const DEFAULTS = { label: "breaker", judge: usualVerdict, ...PROTECTION_DEFAULTS.breaker };

/** @throws OptionError */
export function checkBreaker(given: BreakerOptions): BreakerSettings {
  const { label, timeoutMs, judge, ...config } = checked("", given, CHECKS, DEFAULTS);
  const { windowCalls, minimumCalls, backoff } = config;
  if (windowCalls !== undefined && given.windowMs !== undefined)
    throw new OptionError(
      "windowCalls",
      windowCalls,
      "absent beside windowMs: the window is of calls or of time",
    );
  if (windowCalls !== undefined && windowCalls < minimumCalls)
    throw new OptionError("minimumCalls", minimumCalls, `at most windowCalls, ${windowCalls}`);
  const probeMs = timeoutMs === Number.POSITIVE_INFINITY ? backoff.maxMs : timeoutMs;
  return { label, timeoutMs, judge, config: { ...config, probeMs } };
}

/** A share of a whole, more than 0. @throws OptionError */
export function share(path: string, value: unknown): number {
  if (typeof value === "number" && value > 0 && value <= 1) return value;
  throw new OptionError(path, value, "a number, more than 0 and at most 1");
}

/** A refusal by an inner policy says nothing about the service. */
function usualVerdict(outcome: CallOutcome): Verdict {
  if (outcome.ok) return "success";
  const { error } = outcome;
  const isRefusal =
    isA(error, CircuitOpenError) || isA(error, RateLimitError) || isA(error, BulkheadFullError);
  return isRefusal ? "ignore" : "failure";
}
