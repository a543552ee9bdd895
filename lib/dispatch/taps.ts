// The dispatches, as telemetry sees them: see process/taps.ts.

import type { Process } from "../process/process.js";
import type { Conversation } from "./conversation.js";
import type { Effect, Event, State } from "./conversation-machine.js";
import type { Delivery } from "./delivery.js";
import type { Handoff } from "./handoff.js";
import type { Member } from "./member.js";

/** Follows one dispatch. */
export interface DispatchTap {
  /** The machine has decided. The effects are carried out next. */
  decided(
    event: Event<Member>,
    before: State<Member>,
    after: State<Member>,
    effects: readonly Effect<Member>[],
  ): void;
  /** The envelope is about to be forwarded to a consumer. */
  delivering(held: Delivery<unknown> | Handoff, attempt: number): void;
}

declare module "../process/taps.js" {
  interface Taps {
    /** @param owner - the process that dispatches; undefined for code outside of all processes */
    dispatching(conversation: Conversation<unknown>, owner: Process | undefined): void;
  }
}
