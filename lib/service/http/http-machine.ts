// The life of an HTTP server as a pure state machine: which requests it takes, and when it may end.

import type { ExitReason } from "../../process/reason.js";

export interface State {
  readonly maxInFlight: number;
  readonly inFlight: number;
  /** The reason with which the server will exit, once it is stopping. */
  readonly closing: ExitReason | undefined;
  /** A stopping server waits for requests that clients may have sent already on connections that are kept. */
  readonly isLingering: boolean;
}

export type Event =
  | { readonly type: "request" }
  | { readonly type: "request-ended" }
  | { readonly type: "stop"; readonly reason: ExitReason }
  /** No request is on its way any more: all connections are closed, or the time for that is up. */
  | { readonly type: "lingered" };

export type Effect =
  | { readonly type: "serve" }
  /** Answers that the server is busy. */
  | { readonly type: "turn-away" }
  /** Says `lingered` when no request is on its way any more. */
  | { readonly type: "stop-accepting" }
  /** Closes connections on which no request is in flight. */
  | { readonly type: "close-idle" }
  | { readonly type: "exit"; readonly reason: ExitReason };

export function initial(maxInFlight: number): State {
  return { maxInFlight, inFlight: 0, closing: undefined, isLingering: false };
}

const NOTHING: readonly Effect[] = [];
const SERVE: readonly Effect[] = [{ type: "serve" }];
const TURN_AWAY: readonly Effect[] = [{ type: "turn-away" }];
const CLOSE_IDLE: readonly Effect[] = [{ type: "close-idle" }];

/** The state after `event`, and what to do about it, in order. */
export function decide(state: State, event: Event): readonly [State, readonly Effect[]] {
  const { inFlight, closing } = state;
  switch (event.type) {
    // A stopping server still serves what comes on an open connection: its client cannot know yet.
    case "request":
      return inFlight < state.maxInFlight ? [after(state, inFlight + 1), SERVE] : [state, TURN_AWAY];
    case "request-ended": {
      const next = after(state, inFlight - 1);
      if (closing === undefined || state.isLingering) return [next, NOTHING];
      return next.inFlight > 0 ? [next, CLOSE_IDLE] : [next, [{ type: "exit", reason: closing }]];
    }
    case "stop":
      return closing === undefined
        ? [{ ...state, closing: event.reason, isLingering: true }, [{ type: "stop-accepting" }]]
        : [state, NOTHING];
    case "lingered": {
      if (closing === undefined || !state.isLingering) return [state, NOTHING];
      const next = { ...state, isLingering: false };
      return inFlight > 0 ? [next, CLOSE_IDLE] : [next, [{ type: "exit", reason: closing }]];
    }
    default:
      return event satisfies never;
  }
}

function after({ maxInFlight, closing, isLingering }: State, inFlight: number): State {
  return { maxInFlight, inFlight, closing, isLingering };
}
