// The events that dispatch adds to the events of a system.

import type { ExitReason } from "../process/exit-reason.js";
import type { Pid } from "../process/pid.js";
import type { EndedAttempt } from "./attempts.js";
import type { Envelope } from "./envelope.js";

/** A dead letter of dispatch: an envelope that no consumer gets any more, and the attempts that were made. */
export interface Undeliverable {
  /** Name of the group. */
  readonly group: string;
  /** The envelope that was not delivered. */
  readonly envelope: Envelope<unknown>;
  /** The attempts that ended without a delivery, oldest first; of very many, the last ones. */
  readonly history: readonly EndedAttempt[];
  /** The error that the callers of the dispatch get. */
  readonly error: Error;
}

/** A dispatch goes on at another consumer, because the one that had its envelope has ended. */
export interface Reroute {
  /** Name of the group. */
  readonly group: string;
  /** The envelope. */
  readonly envelope: Envelope<unknown>;
  /** Id of the consumer that has ended. */
  readonly from: string;
  /** Its process. */
  readonly fromPid: Pid;
  /** Why it has ended. */
  readonly reason: ExitReason;
  /** Id of the consumer that has the envelope now. */
  readonly to: string;
  /** Its process. */
  readonly toPid: Pid;
  /** Number of the attempt that has begun, from 1. */
  readonly attempt: number;
  /** Milliseconds from the end of the first consumer to the new attempt. */
  readonly elapsedMs: number;
}

declare module "../process/events.js" {
  interface SystemEventMap {
    /** An envelope has been forwarded to another consumer, because the one that had it has ended. */
    reroute: [Reroute];
    /** An envelope is a dead letter: no attempts are left, it failed on every member, or a consumer rejected it with `final`. */
    undeliverable: [Undeliverable];
  }
}
