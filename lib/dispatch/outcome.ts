// What a dispatch that ended well tells.

import type { Pid } from "../process/pid.js";
import type { ExitReason } from "../process/reason.js";
import type { Envelope } from "./envelope.js";

/** From a consumer's end to the next attempt, as they happened, in milliseconds of the system's clock. */
export interface RerouteTiming {
  /** The consumer that ended. */
  readonly consumer: string;
  readonly reason: ExitReason;
  /** When its EXIT was observed. */
  readonly exitAt: number;
  /** When the envelope had been forwarded to the next one. */
  readonly reroutedAt: number;
  readonly elapsedMs: number;
}

/** The receipt of a dispatch of `T` to a group whose consumers reply with `R`. */
export interface Outcome<T, R = unknown> {
  readonly envelope: Envelope<T>;
  /** Id of the consumer that took it. */
  readonly deliveredTo: string;
  readonly pid: Pid;
  /** `ack`, `reply`, or `handoff`: the consumer cannot acknowledge, and did not end within the hand-off window. */
  readonly settledBy: "ack" | "reply" | "handoff";
  /** What the consumer replied, if it did. */
  readonly reply: R | undefined;
  /** Deliveries it took, 1 when nothing failed. */
  readonly attempts: number;
  /** Consumers that crashed on it or rejected it, in order. */
  readonly reroutedFrom: readonly string[];
  readonly rerouteTimings: readonly RerouteTiming[];
  /** True for the receipt of an earlier dispatch of the same envelope id, handed out again. */
  readonly duplicate: boolean;
}
