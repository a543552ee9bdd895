// The event that dispatch adds to the events of a system.

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

declare module "../process/events.js" {
  interface SystemEventMap {
    /** An envelope is a dead letter: no attempts are left, it failed on every member, or a consumer rejected it with `final`. */
    undeliverable: [Undeliverable];
  }
}
