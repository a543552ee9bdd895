// How a group dispatches, and its defaults.

import { OptionError } from "../process/errors.js";
import { count, delay, oneOf } from "../process/options.js";
import type { CrashPolicy } from "./conversation-machine.js";
import type { Envelope } from "./envelope.js";

/** Defaults of the options of a group. */
export const GROUP_DEFAULTS: {
  /** Milliseconds after which a dispatch that is not settled fails. */
  readonly deadlineMs: number;
  /** Consumers on which one envelope may fail before it is a dead letter. */
  readonly maxAttempts: number;
  /** Reaction to the crash of a consumer. */
  readonly onCrash: CrashPolicy;
  /** Milliseconds that a dispatch waits for a member when there is none to choose. */
  readonly patienceMs: number;
  /** The handoff window, in milliseconds. */
  readonly handoffMs: number;
  /** Milliseconds after which a compensation is killed and counts as failed. */
  readonly compensationTimeoutMs: number;
  /** Envelopes that a {@link consumer} which works on one at a time may have in flight. */
  readonly maxInFlight: number;
  /** Dispatches that may wait for a slot or a member. */
  readonly maxWaiting: number;
  /** Receipts that a group remembers for deduplication. */
  readonly window: number;
  /** Milliseconds after which a group forgets a receipt. */
  readonly windowMs: number;
  /** Bytes of all remembered replies, estimated. */
  readonly windowBytes: number;
  /** Keys of `affinityKey` for which a group remembers the consumer. Not an option. */
  readonly affinities: number;
} = {
  deadlineMs: 5_000,
  maxAttempts: 3,
  onCrash: "reroute",
  patienceMs: 1_000,
  handoffMs: 250,
  compensationTimeoutMs: 5_000,
  maxInFlight: 16,
  maxWaiting: 100_000,
  window: 10_000,
  windowMs: 600_000,
  windowBytes: 50_000_000,
  affinities: 100_000,
};

/** Undoes the work of a consumer that crashed. A promise that it returns is awaited, within `compensationTimeoutMs`. */
export type Compensation<T> = (
  envelope: Envelope<T>,
  crashed: {
    /** Id of the consumer that crashed. */
    readonly consumer: string;
    /** Number of the attempt that the crash ended, from 1. */
    readonly attempt: number;
  },
) => unknown;

/** How a group dispatches. A single dispatch may override each of these. */
export interface DispatchSettings<T> {
  /** Milliseconds after which a dispatch that is not settled fails; `Infinity` for no deadline. Default 5,000. */
  readonly deadlineMs?: number;
  /** Consumers on which one envelope may fail before it is a dead letter. Default 3. */
  readonly maxAttempts?: number;
  /** Reaction to the crash of a consumer. Default `reroute`. */
  readonly onCrash?: CrashPolicy;
  /** Undoes the work of the crashed consumer. Required by `onCrash: "compensate"`. */
  readonly compensate?: Compensation<T>;
  /** Milliseconds after which a compensation is killed and counts as failed; `Infinity` for never. Default 5,000. */
  readonly compensationTimeoutMs?: number;
  /**
   * Milliseconds that a dispatch waits for a member when there is none to choose: the time that a restart takes. 0 fails at
   * once. Default 1,000, and no wait when each member has rejected the envelope or has a full buffer: a time that you give
   * counts there, too.
   */
  readonly patienceMs?: number;
  /**
   * The handoff window, in milliseconds. A dispatch to a consumer that cannot acknowledge counts as delivered when the
   * consumer is still alive after this time. Default 250.
   */
  readonly handoffMs?: number;
}

/**
 * Options of one dispatch. The group has the value of each option that is left out. A dispatch of an envelope that is in
 * flight already joins that dispatch: it has its own `deadlineMs` and `signal`, and all other options of the first one.
 */
export interface DispatchOptions<T> extends DispatchSettings<T> {
  /**
   * Withdraws the dispatch: it rejects with the reason of the signal, and the envelope is taken back, unless another caller
   * that dispatched the same envelope still waits.
   */
  readonly signal?: AbortSignal;
}

export type FullSettings<T> = Required<Omit<DispatchSettings<T>, "compensate">> & {
  /** Attempts that another node made at the envelope before. Default 0. */
  readonly attemptsBefore?: number;
  readonly compensate: Compensation<T> | undefined;
  /** Whether a dispatch that each member turns away waits for another one: `patienceMs` was given. */
  readonly outwaitsRefusals: boolean;
};

export const DISPATCH_SETTINGS: readonly (keyof DispatchSettings<never>)[] = [
  "deadlineMs",
  "maxAttempts",
  "onCrash",
  "compensate",
  "compensationTimeoutMs",
  "patienceMs",
  "handoffMs",
];

export const DISPATCH_OPTIONS: ReadonlySet<string> = /* @__PURE__ */ new Set([
  ...DISPATCH_SETTINGS,
  "signal",
]);

/** Checks settings, and completes them from `base` or the defaults. @throws OptionError */
export function settingsOf<T>(
  given: DispatchSettings<T>,
  base: FullSettings<T> | undefined,
): FullSettings<T> {
  const from = base ?? { ...GROUP_DEFAULTS, compensate: undefined, outwaitsRefusals: false };
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
    outwaitsRefusals: given.patienceMs !== undefined || from.outwaitsRefusals,
    handoffMs: delay("handoffMs", given.handoffMs ?? from.handoffMs),
  };
  if (settings.onCrash === "compensate" && typeof settings.compensate !== "function") {
    throw new OptionError("compensate", settings.compensate, 'a function, when onCrash is "compensate"');
  }
  return settings;
}
