// What a dispatch that ended well tells.

import type { Pid } from "../process/pid.js";
import type { Past, RerouteTiming } from "./attempts.js";
import { Delivery } from "./delivery.js";
import type { Envelope } from "./envelope.js";
import type { Handoff } from "./handoff.js";
import type { ConsumerView } from "./member.js";

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

const NOBODY: readonly string[] = Object.freeze([]);
const NO_TIMINGS: readonly RerouteTiming[] = Object.freeze([]);

/** The receipt for the callers of one dispatch. @param held - what the consumer has settled, or survived */
export function outcomeOf<T>(
  envelope: Envelope<T>,
  held: Delivery<T> | Handoff,
  attempts: number,
  { history, timings }: Past<ConsumerView>,
): Outcome<T> {
  const settlement = held instanceof Delivery ? held.settlement : undefined;
  const acked = settlement?.type === "acked" ? settlement : undefined;
  return {
    envelope,
    deliveredTo: held.member.id,
    pid: held.member.pid,
    settledBy: acked === undefined ? "handoff" : acked.replied ? "reply" : "ack",
    reply: acked?.value,
    attempts,
    reroutedFrom: history.length === 0 ? NOBODY : history.map((one) => one.consumer),
    rerouteTimings: timings.length === 0 ? NO_TIMINGS : timings,
    duplicate: false,
  };
}
