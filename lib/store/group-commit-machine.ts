// Group commit as a state machine. It decides when a group begins, which sets it contains and how large it is, and how to recover from
// a failed group.
//
//   idle ──submitted──▶ gathering ──due──▶ committing ──committed──▶ gathering, or idle
//                                           │    ▲
//                                      failed    └── again, after a wait (retry), or in halves (split)
//
// A single set does not wait for others: a group begins at the end of the turn in which its first set was submitted. While a group
// is in flight, the others gather. So groups grow with the load, up to a cap that follows the time for which groups hold the event
// loop.
//
// For speed the state changes in place: a store has one state, and no code keeps an old one. The same state and event always give the
// same effects.

import { backoffMs } from "../process/backoff.js";
import { invariant } from "../process/invariant.js";
import type { StoreLimits } from "./limits.js";

/** A write set that waits, by its size. */
export interface Weighed {
  readonly writes: number;
  readonly bytes: number;
}

/** How to recover from a failed group: retry it as it is; split it into halves, because one set may be to blame; or fail it. */
export type Recovery = "retry" | "split" | "fail";

export type Event<S> =
  | { readonly type: "submitted"; readonly set: S }
  /** The turn has ended in which a group was called for. */
  | { readonly type: "due" }
  /** `heldMs`: for how long the group held the event loop. */
  | { readonly type: "committed"; readonly heldMs: number }
  | { readonly type: "failed"; readonly recovery: Recovery }
  /** The wait before the repetition is over. */
  | { readonly type: "waited" }
  /** Nothing is submitted any more. */
  | { readonly type: "closed" };

export type Effect<S> =
  /** Send `due` at the end of this turn. */
  | { readonly type: "call" }
  /** Too much waits: the set is not taken. */
  | { readonly type: "refuse"; readonly set: S }
  /** Commit these sets as one group. */
  | { readonly type: "begin"; readonly sets: readonly S[] }
  /** Tell these sets what became of them. */
  | { readonly type: "settle"; readonly sets: readonly S[] }
  /** Tell these sets that their group failed. */
  | { readonly type: "fail"; readonly sets: readonly S[] }
  /** Send `waited` after this time. */
  | { readonly type: "wait"; readonly ms: number }
  /** All submitted sets are settled. */
  | { readonly type: "end" };

export interface State<S extends Weighed> {
  readonly limits: StoreLimits;
  /** From `head` on: the sets that wait, in the order of their submission. */
  queue: S[];
  head: number;
  /** The size of the sets that wait. */
  bytes: number;
  group: readonly S[] | undefined;
  /** How often the present group was tried. */
  attempts: number;
  /** `due` was asked for. */
  called: boolean;
  closed: boolean;
  /** Most writes in the next group. */
  mostWrites: number;
  /** Most sets in the next group, while the halves of a failed one are tried. */
  mostSets: number;
}

/** The cap of the first group … */
const FIRST_WRITES = 256;
/** … and the lowest. */
const FEWEST_WRITES = 16;
/** The cap grows to so many times its size at most. */
const MOST_GROWTH = 16;

export function initial<S extends Weighed>(limits: StoreLimits): State<S> {
  return {
    limits,
    queue: [],
    head: 0,
    bytes: 0,
    group: undefined,
    attempts: 0,
    called: false,
    closed: false,
    mostWrites: Math.min(FIRST_WRITES, limits.groupWrites),
    mostSets: limits.groupSets,
  };
}

const NONE: readonly never[] = [];
const CALL: readonly { readonly type: "call" }[] = [{ type: "call" }];

export function decide<S extends Weighed>(
  state: State<S>,
  event: Event<S>,
): readonly [State<S>, readonly Effect<S>[]] {
  switch (event.type) {
    case "submitted":
      return [state, submitted(state, event.set)];
    case "due":
      state.called = false;
      return [state, state.group === undefined ? begin(state) : NONE];
    case "committed":
      return [state, committed(state, event.heldMs)];
    case "failed":
      return [state, failed(state, event.recovery)];
    case "waited":
      invariant(state.group !== undefined, "a group that waits for its repetition is in flight");
      return [state, [{ type: "begin", sets: state.group }]];
    case "closed":
      state.closed = true;
      return [state, isIdle(state) ? [{ type: "end" }] : NONE];
    default:
      return event satisfies never;
  }
}

/** How many sets wait. */
export const waiting = <S extends Weighed>(state: State<S>): number => state.queue.length - state.head;

const isIdle = <S extends Weighed>(state: State<S>): boolean =>
  waiting(state) === 0 && state.group === undefined && !state.called;

function submitted<S extends Weighed>(state: State<S>, set: S): readonly Effect<S>[] {
  // One set is taken however large it is: its own bound has let it pass. A set without size only waits for those before it.
  if (set.bytes > 0 && state.bytes > 0 && state.bytes + set.bytes > state.limits.queuedBytes)
    return [{ type: "refuse", set }];
  state.queue.push(set);
  state.bytes += set.bytes;
  return state.group === undefined ? call(state) : NONE;
}

function call<S extends Weighed>(state: State<S>): readonly Effect<S>[] {
  if (state.called) return NONE;
  state.called = true;
  return CALL;
}

function begin<S extends Weighed>(state: State<S>): readonly Effect<S>[] {
  if (waiting(state) === 0) return state.closed ? [{ type: "end" }] : NONE;
  const { queue, limits, head } = state;
  const last = Math.min(queue.length, head + Math.min(state.mostSets, limits.groupSets));
  let writes = 0;
  let bytes = 0;
  let next = head;
  for (; next < last; next++) {
    const set = queue[next] as S;
    if (next > head && (writes + set.writes > state.mostWrites || bytes + set.bytes > limits.groupBytes))
      break;
    writes += set.writes;
    bytes += set.bytes;
  }
  const sets = queue.slice(head, next);
  state.bytes -= bytes;
  state.head = next;
  // The places of the sets that are gone are given back in one piece: each set is moved once at most, on average.
  if (state.head * 2 >= queue.length) {
    state.queue = queue.slice(state.head);
    state.head = 0;
  }
  state.group = sets;
  state.attempts = 1;
  return [{ type: "begin", sets }];
}

function committed<S extends Weighed>(state: State<S>, heldMs: number): readonly Effect<S>[] {
  const sets = taken(state);
  adapt(
    state,
    sets.reduce((sum, set) => sum + set.writes, 0),
    heldMs,
  );
  state.mostSets = Math.min(state.limits.groupSets, state.mostSets * 2);
  // The next group begins when the writers of this one have been told, and may have submitted more.
  return [{ type: "settle", sets }, ...call(state)];
}

function failed<S extends Weighed>(state: State<S>, recovery: Recovery): readonly Effect<S>[] {
  const { limits } = state;
  if (recovery === "retry" && state.attempts < limits.groupAttempts) {
    const waits = { minMs: limits.retryMinMs, maxMs: limits.retryMaxMs, jitter: 0 };
    const ms = backoffMs(waits, state.attempts, 0);
    state.attempts++;
    return [{ type: "wait", ms }];
  }
  const sets = taken(state);
  if (recovery === "split" && sets.length > 1) {
    // The sets go back to where they were, and come again in smaller groups until the one to blame stands alone.
    state.queue = [...sets, ...state.queue.slice(state.head)];
    state.head = 0;
    for (const set of sets) state.bytes += set.bytes;
    state.mostSets = Math.ceil(sets.length / 2);
    return begin(state);
  }
  return [{ type: "fail", sets }, ...call(state)];
}

function taken<S extends Weighed>(state: State<S>): readonly S[] {
  const { group } = state;
  invariant(group !== undefined, "a group that ends was in flight");
  state.group = undefined;
  return group;
}

/**
 * The cap grows while groups fill it in less than half of the time that they may take, and shrinks at once when they take longer. It
 * doubles; where the group was much faster, it grows to what would take half of the time: after one long pause, such as that of a
 * collection, a host that is fast is not held to small groups and a sync for each.
 */
function adapt<S extends Weighed>(state: State<S>, writes: number, heldMs: number): void {
  const { groupMs, groupWrites } = state.limits;
  const half = Math.floor((writes * groupMs) / 2 / heldMs);
  if (heldMs > groupMs)
    state.mostWrites = Math.max(
      Math.min(FEWEST_WRITES, groupWrites),
      Math.floor((writes * groupMs) / heldMs),
    );
  else if (heldMs < groupMs / 2 && writes * 2 > state.mostWrites)
    state.mostWrites = Math.min(
      groupWrites,
      Math.max(state.mostWrites * 2, Math.min(state.mostWrites * MOST_GROWTH, half)),
    );
}
