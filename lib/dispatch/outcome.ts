// The result of a dispatch that was acknowledged.

import type { Pid } from "../process/pid.js";
import type { Past, RerouteTiming } from "./attempts.js";
import { Delivery } from "./delivery.js";
import type { Envelope } from "./envelope.js";
import type { Handoff } from "./handoff.js";
import type { ConsumerView } from "./member.js";

/** The receipt of a dispatch of `T` to a group whose consumers reply with `R`. */
export interface Outcome<T, R = unknown> {
  /** The envelope that was dispatched. */
  readonly envelope: Envelope<T>;
  /** Id of the consumer that acknowledged. */
  readonly deliveredTo: string;
  /** The process of that consumer, on whichever node it is. */
  readonly pid: Pid;
  /** `handoff`: the consumer cannot acknowledge, and was still alive at the end of the handoff window. */
  readonly settledBy: "ack" | "reply" | "handoff";
  /** The reply of the consumer; undefined without one. */
  readonly reply: R | undefined;
  /** Number of deliveries, the last one included: 1 when nothing failed. */
  readonly attempts: number;
  /** Ids of the consumers whose attempts ended without an acknowledgement, in order. */
  readonly reroutedFrom: readonly string[];
  /** One entry for each re-routing after the end of a consumer, in order. */
  readonly rerouteTimings: readonly RerouteTiming[];
  /** The same envelope id was dispatched before: this is the receipt of that dispatch. */
  readonly duplicate: boolean;
}

const NOBODY: readonly string[] = /* @__PURE__ */ Object.freeze([]);
const NO_TIMINGS: readonly RerouteTiming[] = /* @__PURE__ */ Object.freeze([]);

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
    pid: held.member.standsFor ?? held.member.pid,
    settledBy: acked === undefined ? "handoff" : acked.replied ? "reply" : "ack",
    reply: acked?.value,
    attempts,
    reroutedFrom: history.length === 0 ? NOBODY : history.map((one) => one.consumer),
    rerouteTimings: timings.length === 0 ? NO_TIMINGS : timings,
    duplicate: false,
  };
}
