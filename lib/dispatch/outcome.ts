// What a dispatch that ended well tells.

import type { Pid } from "../process/pid.js";
import type { ExitReason } from "../process/reason.js";
import type { EndedAttempt } from "./conversation-machine.js";
import type { Envelope } from "./envelope.js";
import type { ConsumerView } from "./member.js";

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
  /** `ack`, `reply`, or `handoff`: the consumer cannot acknowledge, and did not end within the handoff window. */
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

const NONE: readonly string[] = Object.freeze([]);
const NO_TIMINGS: readonly RerouteTiming[] = Object.freeze([]);

/** The receipt for those who asked first. */
export function outcomeOf<T>(
  envelope: Envelope<T>,
  consumer: ConsumerView,
  settledBy: Outcome<T>["settledBy"],
  reply: unknown,
  { attempt, history }: { readonly attempt: number; readonly history: readonly EndedAttempt[] },
  timings: readonly RerouteTiming[] | undefined,
): Outcome<T> {
  return {
    envelope,
    deliveredTo: consumer.id,
    pid: consumer.pid,
    settledBy,
    reply,
    attempts: attempt,
    reroutedFrom: history.length === 0 ? NONE : history.map((one) => one.consumer),
    rerouteTimings: timings ?? NO_TIMINGS,
    duplicate: false,
  };
}

/** The timings, and that of the consumer that has ended: its envelope was forwarded again just now. */
export function timed(
  timings: readonly RerouteTiming[] | undefined,
  history: readonly EndedAttempt[],
  reroutedAt: number,
): readonly RerouteTiming[] | undefined {
  // Between that end and now there may be a consumer whose mailbox was full.
  const ended = history.findLast((one) => one.end !== "rejected");
  if (ended === undefined) return timings;
  const { consumer, reason, at: exitAt } = ended;
  const timing = { consumer, reason, exitAt, reroutedAt, elapsedMs: reroutedAt - exitAt };
  return timings === undefined ? [timing] : [...timings, timing];
}
