// What happens to one delivery of a broker. The store decides, the broker only carries: a message is settled in the store first, with its
// children in the same commit; then the children are published, then they are marked as sent, and the delivery is acknowledged last.
// A crash at any point leaves a delivery that comes again, or children that are not marked: nothing is lost, and repeated work
// changes nothing. Pure.
//
//     taking ── taken ──> working ── settled ──> publishing ── confirmed ──> marking ── marked ──> acking ── acked ──> ended
//        │                                           ^   without children ──────────────────────────^
//        │                                           └───── void ─────┘
//        └── gone, with the children that are not marked ──┘

import { type Backoff, backoffMs } from "../../process/backoff.js";

export interface OutboxState<C> {
  readonly phase: "taking" | "working" | "publishing" | "marking" | "acking" | "ended";
  /** The children that are not marked as sent. */
  readonly children: readonly C[];
  /** How often the present phase has failed. */
  readonly failures: number;
  /** The waits before a broker or store that failed is asked again. */
  readonly again: Backoff;
}

export type OutboxEvent<C> =
  /** The message is this subscriber's now. */
  | { readonly type: "taken" }
  /** It was settled before. These of its children are not marked as sent. */
  | { readonly type: "gone"; readonly children: readonly C[] }
  /** It waits for its time, or another subscriber has it: the store will have it delivered again. */
  | { readonly type: "elsewhere" }
  /** The commit that settles it, or has it tried again, is done. It has inserted these children. */
  | { readonly type: "settled"; readonly children: readonly C[] }
  /** The subscriber has lost the message, or gives it back. */
  | { readonly type: "lost" }
  /** The broker has confirmed that it has all children: here they are, each with its answer. */
  | { readonly type: "confirmed"; readonly children: readonly C[] }
  | { readonly type: "marked" }
  /** The broker has lost what it has confirmed. */
  | { readonly type: "void" }
  /** The broker, or the store, failed. It may have done what it was asked for. */
  | { readonly type: "failed"; readonly roll: number }
  | { readonly type: "acked" };

export type OutboxEffect<C> =
  | { readonly type: "publish"; readonly children: readonly C[]; readonly inMs: number }
  | { readonly type: "mark"; readonly children: readonly C[]; readonly inMs: number }
  | { readonly type: "ack" };

export function initial<C>(again: Backoff): OutboxState<C> {
  return { phase: "taking", children: [], failures: 0, again };
}

export function decide<C>(
  state: OutboxState<C>,
  event: OutboxEvent<C>,
): [OutboxState<C>, readonly OutboxEffect<C>[]] {
  const { phase } = state;
  switch (event.type) {
    case "taken":
      return phase === "taking" ? [{ ...state, phase: "working" }, []] : [state, []];
    case "elsewhere":
      return phase === "taking" ? acking(state) : [state, []];
    case "gone":
      return phase === "taking" ? publishing(state, event.children) : [state, []];
    case "settled":
      return phase === "working" ? publishing(state, event.children) : [state, []];
    case "lost":
      // Without an acknowledgement the delivery comes again, to the subscriber that has the message then.
      return phase === "working" ? [{ ...state, phase: "ended" }, []] : [state, []];
    case "confirmed":
      return phase === "publishing" ? marking({ ...state, children: event.children }) : [state, []];
    case "marked":
      return phase === "marking" ? acking(state) : [state, []];
    case "void":
      return phase === "marking" ? publishing(state, state.children) : [state, []];
    case "failed":
      return failed(state, event.roll);
    case "acked":
      return phase === "acking" ? [{ ...state, phase: "ended" }, []] : [state, []];
    default:
      return event satisfies never;
  }
}

type Decision<C> = [OutboxState<C>, readonly OutboxEffect<C>[]];

function publishing<C>(state: OutboxState<C>, children: readonly C[]): Decision<C> {
  if (children.length === 0) return acking(state);
  const next = { ...state, phase: "publishing", children, failures: 0 } as const;
  return [next, [{ type: "publish", children, inMs: 0 }]];
}

function marking<C>(state: OutboxState<C>): Decision<C> {
  const { children } = state;
  return [{ ...state, phase: "marking", failures: 0 }, [{ type: "mark", children, inMs: 0 }]];
}

function acking<C>(state: OutboxState<C>): Decision<C> {
  return [{ ...state, phase: "acking", children: [], failures: 0 }, [{ type: "ack" }]];
}

function failed<C>(state: OutboxState<C>, roll: number): Decision<C> {
  const { phase, children, again } = state;
  const failures = state.failures + 1;
  const inMs = backoffMs(again, failures, roll);
  if (phase === "publishing") return [{ ...state, failures }, [{ type: "publish", children, inMs }]];
  if (phase === "marking") return [{ ...state, failures }, [{ type: "mark", children, inMs }]];
  // An acknowledgement that failed is made when the delivery comes again.
  return phase === "acking" ? [{ ...state, phase: "ended" }, []] : [state, []];
}
