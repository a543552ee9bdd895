// The record of the failed attempts of one dispatch: the consumers that were tried, how each attempt ended, and how soon the
// envelope was re-routed.

import type { ExitReason } from "../process/reason.js";

/** An attempt that ended without a delivery. */
export interface EndedAttempt {
  /** From 1. */
  readonly attempt: number;
  /** Id of the consumer. */
  readonly consumer: string;
  /**
   * - `crashed`: the consumer exited while it had the envelope.
   * - `rejected`: the consumer rejected the envelope.
   * - `returned`: the consumer ended before it took the envelope out of its mailbox.
   * - `interrupted`: the consumer crashed on another envelope that it worked on at the same time.
   *
   * Only the first two count as failures of the envelope.
   */
  readonly end: "crashed" | "rejected" | "returned" | "interrupted";
  /** The exit reason of the consumer. For `rejected`, the reason of the rejection: `crash` with its Error, or `custom`. */
  readonly reason: ExitReason;
  /** When the dispatch observed the end, in milliseconds of the system's clock. */
  readonly at: number;
}

/** One re-routing: from a consumer's end to the next attempt. Times are milliseconds of the system's clock. */
export interface RerouteTiming {
  /** Id of the consumer that ended. */
  readonly consumer: string;
  /** Why the attempt at that consumer ended. */
  readonly reason: ExitReason;
  /** When the dispatch observed the consumer's EXIT. */
  readonly exitAt: number;
  /** When the envelope had been forwarded to the next consumer. */
  readonly reroutedAt: number;
  /** Milliseconds from `exitAt` to `reroutedAt`. */
  readonly elapsedMs: number;
}

/** `C` is a consumer. */
export interface Past<C> {
  /** Consumers on which the envelope has failed. They do not get it again. */
  readonly excluded: readonly C[];
  /** The attempts that ended without a delivery, oldest first; of very many, the last ones. */
  readonly history: readonly EndedAttempt[];
  /** Attempts that count against `maxAttempts`: those that crashed or were rejected. */
  readonly failures: number;
  /** A consumer has exited, and the envelope has not been forwarded to another one yet. */
  readonly isRerouting: boolean;
  readonly timings: readonly RerouteTiming[];
}

/** Of a dispatch that has not failed yet: the same object for all of them. */
export const NO_PAST: Past<never> = {
  excluded: [],
  history: [],
  failures: 0,
  isRerouting: false,
  timings: [],
};

/** Attempts that a dispatch remembers, however many it makes. */
const REMEMBERED = 100;

/** After an attempt that counts: its consumer does not get the envelope again. */
export function failedOn<C>(past: Past<C>, consumer: C, ended: EndedAttempt): Past<C> {
  return {
    excluded: append(past.excluded, consumer),
    history: append(past.history, ended),
    failures: past.failures + 1,
    isRerouting: past.isRerouting || ended.end === "crashed",
    timings: past.timings,
  };
}

/** After an attempt that does not count. @param exited - the consumer is gone, and not only on its way out */
export function cameBack<C>(past: Past<C>, ended: EndedAttempt, exited: boolean): Past<C> {
  return {
    excluded: past.excluded,
    history: append(past.history, ended),
    failures: past.failures,
    isRerouting: past.isRerouting || exited,
    timings: past.timings,
  };
}

/** After the envelope was forwarded again, at `reroutedAt`. */
export function rerouted<C>(past: Past<C>, reroutedAt: number): Past<C> {
  const { excluded, history, failures, timings } = past;
  // Since that consumer's end, one with a full mailbox may have rejected the envelope.
  const ended = history.findLast(({ end }) => end !== "rejected");
  if (ended === undefined) return { excluded, history, failures, isRerouting: false, timings };
  const { consumer, reason, at: exitAt } = ended;
  const timing = { consumer, reason, exitAt, reroutedAt, elapsedMs: reroutedAt - exitAt };
  return { excluded, history, failures, isRerouting: false, timings: [...timings, timing] };
}

function append<T>(list: readonly T[], item: T): readonly T[] {
  return list.length < REMEMBERED ? [...list, item] : [...list.slice(1 - REMEMBERED), item];
}
