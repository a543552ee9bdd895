// How messages of a store get to a broker. A message that is ready and has no holder is marked as unsent in the commit that makes it so; it
// is published, and the mark is removed when the broker has confirmed it. A crash at any point leaves the mark: whoever finds it publishes
// the message again, and repeated work changes nothing. Pure.
//
//     publishing ── confirmed ──> marking ── marked ──> ended
//         └──────────── void ────────┘

import { type Backoff, backoffMs } from "../../process/backoff.js";

export interface OutboxState<S> {
  readonly phase: "publishing" | "marking" | "ended";
  readonly messages: readonly S[];
  /** How often the present phase has failed. */
  readonly failures: number;
  /** The waits before a broker or store that failed is asked again. */
  readonly again: Backoff;
}

export type OutboxEvent<S> =
  | { readonly type: "send"; readonly messages: readonly S[] }
  /** The broker has confirmed that it has all messages: here they are, each with its answer. */
  | { readonly type: "confirmed"; readonly messages: readonly S[] }
  | { readonly type: "marked" }
  /** The broker has lost what it has confirmed. */
  | { readonly type: "void" }
  /** The broker, or the store, failed. It may have done what it was asked for. */
  | { readonly type: "failed"; readonly roll: number };

export type OutboxEffect<S> = {
  readonly type: "publish" | "mark";
  readonly messages: readonly S[];
  /** The wait before it. */
  readonly inMs: number;
};

type Decision<S> = [OutboxState<S>, readonly OutboxEffect<S>[]];

/** Begins with `send`. */
export function initial<S>(again: Backoff): OutboxState<S> {
  return { phase: "publishing", messages: [], failures: 0, again };
}

export function decide<S>(state: OutboxState<S>, event: OutboxEvent<S>): Decision<S> {
  const { phase } = state;
  switch (event.type) {
    case "send":
      return phase === "publishing" && state.messages.length === 0
        ? next(state, "publishing", event.messages)
        : [state, []];
    case "confirmed":
      return phase === "publishing" ? next(state, "marking", event.messages) : [state, []];
    case "marked":
      return phase === "marking" ? [{ ...state, phase: "ended" }, []] : [state, []];
    case "void":
      return phase === "marking" ? next(state, "publishing", state.messages) : [state, []];
    case "failed": {
      if (phase === "ended") return [state, []];
      const failures = state.failures + 1;
      return effectOf({ ...state, failures }, backoffMs(state.again, failures, event.roll));
    }
    default:
      return event satisfies never;
  }
}

function next<S>(
  state: OutboxState<S>,
  phase: "publishing" | "marking",
  messages: readonly S[],
): Decision<S> {
  return messages.length === 0
    ? [{ ...state, phase: "ended" }, []]
    : effectOf({ ...state, phase, messages, failures: 0 }, 0);
}

function effectOf<S>(state: OutboxState<S>, inMs: number): Decision<S> {
  const type = state.phase === "publishing" ? "publish" : "mark";
  return [state, [{ type, messages: state.messages, inMs }]];
}
