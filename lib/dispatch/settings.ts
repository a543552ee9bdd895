// How a group dispatches, and its defaults.

import { OptionError } from "../process/errors.js";
import { count, delay, oneOf } from "../process/options.js";
import type { CrashPolicy } from "./conversation-machine.js";
import type { Envelope } from "./envelope.js";

/** Defaults of a group's options, in one place. Durations are milliseconds. */
export const GROUP_DEFAULTS: {
  readonly deadlineMs: number;
  readonly maxAttempts: number;
  readonly onCrash: CrashPolicy;
  readonly patienceMs: number;
  readonly handoffMs: number;
  readonly compensationTimeoutMs: number;
  readonly maxWaiting: number;
  readonly window: number;
  readonly windowMs: number;
  readonly windowBytes: number;
  readonly affinities: number;
} = {
  deadlineMs: 5_000,
  maxAttempts: 3,
  onCrash: "reroute",
  patienceMs: 0,
  handoffMs: 250,
  compensationTimeoutMs: 5_000,
  maxWaiting: 10_000,
  window: 10_000,
  windowMs: 600_000,
  windowBytes: 50_000_000,
  affinities: 100_000,
};

/** What undoes the work of a consumer that crashed. */
export type Compensation<T> = (
  envelope: Envelope<T>,
  crashed: { readonly consumer: string; readonly attempt: number },
) => unknown;

/** How a group dispatches; a single dispatch may say otherwise. */
export interface DispatchSettings<T> {
  /** Milliseconds in which the envelope is settled, or the dispatch fails; `Infinity` for none. */
  readonly deadlineMs?: number;
  /** Consumers that may be tried with one envelope before it is a dead letter. */
  readonly maxAttempts?: number;
  /** What the crash of a consumer leads to. */
  readonly onCrash?: CrashPolicy;
  /** Undoes the work of the crashed consumer, under `onCrash: "compensate"`. */
  readonly compensate?: Compensation<T>;
  /** Milliseconds that the compensation may take. */
  readonly compensationTimeoutMs?: number;
  /** How long to wait for a member when there is none to choose from: time for a restart. 0 fails at once. */
  readonly patienceMs?: number;
  /** Milliseconds a consumer that cannot acknowledge must survive for the dispatch to count as delivered. */
  readonly handoffMs?: number;
}

export type FullSettings<T> = Required<Omit<DispatchSettings<T>, "compensate">> & {
  readonly compensate: Compensation<T> | undefined;
};

/** Checks settings, and fills them in from others or the defaults. @throws OptionError */
export function settingsOf<T>(
  given: DispatchSettings<T>,
  base: FullSettings<T> | undefined,
): FullSettings<T> {
  const from = base ?? { ...GROUP_DEFAULTS, compensate: undefined };
  const settings: FullSettings<T> = {
    deadlineMs: delay("deadlineMs", given.deadlineMs ?? from.deadlineMs, 0, true),
    maxAttempts: count("maxAttempts", given.maxAttempts ?? from.maxAttempts, 1, true),
    onCrash: oneOf("onCrash", given.onCrash ?? from.onCrash, ["reroute", "fail", "compensate"]),
    compensate: given.compensate ?? from.compensate,
    compensationTimeoutMs: delay(
      "compensationTimeoutMs",
      given.compensationTimeoutMs ?? from.compensationTimeoutMs,
      0,
      true,
    ),
    patienceMs: delay("patienceMs", given.patienceMs ?? from.patienceMs, 0, true),
    handoffMs: delay("handoffMs", given.handoffMs ?? from.handoffMs),
  };
  if (settings.onCrash === "compensate" && typeof settings.compensate !== "function") {
    throw new OptionError("compensate", settings.compensate, 'a function, when onCrash is "compensate"');
  }
  return settings;
}
