// What dispatch adds to the events of a system.

import type { EndedAttempt } from "./attempts.js";
import type { Envelope } from "./envelope.js";

/** An envelope that no consumer will get any more, with everything that was tried. */
export interface Undeliverable {
  readonly group: string;
  readonly envelope: Envelope<unknown>;
  readonly history: readonly EndedAttempt[];
  readonly error: Error;
}

declare module "../process/events.js" {
  interface SystemEventMap {
    /** A dead letter: its attempts are used up, every member has failed on it, or one rejected it for good. */
    undeliverable: [Undeliverable];
  }
}
