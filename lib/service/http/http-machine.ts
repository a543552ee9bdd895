// The life of an HTTP server as a pure state machine: which requests it takes, and when it may end.

import type { ExitReason } from "../../process/reason.js";

export interface State {
  readonly maxInFlight: number;
  readonly inFlight: number;
  /** The reason with which the server will exit, once it is stopping. */
  readonly closing: ExitReason | undefined;
}

export type Event =
  | { readonly type: "request" }
  | { readonly type: "request-ended" }
  | { readonly type: "stop"; readonly reason: ExitReason };

export type Effect =
  | { readonly type: "serve" }
  /** Answers that the server is busy. */
  | { readonly type: "turn-away" }
  | { readonly type: "stop-accepting" }
  /** Closes connections on which no request is in flight. */
  | { readonly type: "close-idle" }
  | { readonly type: "exit"; readonly reason: ExitReason };

export function initial(maxInFlight: number): State {
  return { maxInFlight, inFlight: 0, closing: undefined };
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
      if (closing === undefined) return [next, NOTHING];
      return next.inFlight > 0 ? [next, CLOSE_IDLE] : [next, [{ type: "exit", reason: closing }]];
    }
    case "stop": {
      if (closing !== undefined) return [state, []];
      const { reason } = event;
      const effects: readonly Effect[] = [{ type: "stop-accepting" }, { type: "close-idle" }];
      return [{ ...state, closing: reason }, inFlight > 0 ? effects : [...effects, { type: "exit", reason }]];
    }
    default:
      return event satisfies never;
  }
}

function after({ maxInFlight, closing }: State, inFlight: number): State {
  return { maxInFlight, inFlight, closing };
}
