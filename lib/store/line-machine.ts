// The line of transactions of users before the connections of a store, as a pure machine. It bounds how many run at once, and keeps those
// apart that overtake each other:
//
//   never overtaken        runs beside others, up to the limit
//   overtaken once         one such transaction at a time, before all that never were
//   overtaken again        alone: it waits until all others have ended, and no other begins before it has ended
//
// The limit is adaptive: each timeout and each transaction that was overtaken lowers it, and windows of successes raise it again
// (adaptive-machine.ts). A slow body alone does not: it may wait for others than the database.
// Sets and queues are changed in place: a state is used once.

import { type AdaptiveState, decide as adapt, initial as adaptive } from "../process/adaptive-machine.js";

/** How a turn ended. `unreachable`: there was no connection, so the waiting transactions would wait in vain. */
export type TurnEnd = "committed" | "overtaken" | "timed out" | "unreachable" | "failed";

export interface LineState {
  readonly limit: AdaptiveState;
  /** The transactions that have their turn. */
  readonly running: Map<number, { readonly overtaken: number; readonly epoch: number }>;
  /** The waiting transactions that were overtaken before, the oldest first. */
  readonly again: Waiting[];
  /** The waiting transactions that were never overtaken. */
  readonly fresh: Waiting[];
}

interface Waiting {
  readonly id: number;
  readonly overtaken: number;
}

export type LineEvent =
  /** A transaction wants its turn. It was overtaken so often before. */
  | { readonly type: "joined"; readonly id: number; readonly overtaken: number }
  /** It gives up its place, or its turn is over. */
  | { readonly type: "left"; readonly id: number; readonly end: TurnEnd };

export type LineEffect =
  /** It has its turn. */
  | { readonly type: "go"; readonly id: number }
  /** It gets no turn: there is no connection. */
  | { readonly type: "refuse"; readonly id: number };

/** From so many times on a transaction runs alone. */
export const ALONE_AFTER = 2;
/** Least transactions after which the limit may grow. */
const WINDOW = 10;

/** @param most - transactions at once, at most; so many run at first */
export function initial(most: number): LineState {
  const limit = adaptive({ targetMs: 1, window: WINDOW, most, first: most });
  return { limit, running: new Map(), again: [], fresh: [] };
}

type Decision = readonly [LineState, readonly LineEffect[]];

export function decide(state: LineState, event: LineEvent): Decision {
  switch (event.type) {
    case "joined":
      (event.overtaken > 0 ? state.again : state.fresh).push(event);
      return granted(state);
    case "left":
      return left(state, event.id, event.end);
    default:
      return event satisfies never;
  }
}

function left(state: LineState, id: number, end: TurnEnd): Decision {
  const turn = state.running.get(id);
  if (turn === undefined) {
    for (const queue of [state.again, state.fresh]) {
      const at = queue.findIndex((one) => one.id === id);
      if (at >= 0) queue.splice(at, 1);
    }
    return granted(state);
  }
  const isFull = state.running.size >= state.limit.limit;
  state.running.delete(id);
  if (end === "unreachable") {
    const waiting = [...state.again.splice(0), ...state.fresh.splice(0)];
    return [state, waiting.map((one) => ({ type: "refuse", id: one.id }))];
  }
  return granted({ ...state, limit: judged(state.limit, turn.epoch, end, isFull) });
}

function judged(limit: AdaptiveState, epoch: number, end: TurnEnd, isFull: boolean): AdaptiveState {
  if (end === "committed") return adapt(limit, { type: "ended", epoch, tookMs: 0, isFull })[0];
  if (end === "overtaken" || end === "timed out") return adapt(limit, { type: "timed out", epoch })[0];
  return limit;
}

/** Gives turns to the transactions that may have one. */
function granted(state: LineState): Decision {
  const effects: LineEffect[] = [];
  for (let next = pick(state); next !== undefined; next = pick(state)) {
    state.running.set(next.id, { overtaken: next.overtaken, epoch: state.limit.epoch });
    effects.push({ type: "go", id: next.id });
  }
  return [state, effects];
}

function pick({ limit, running, again, fresh }: LineState): Waiting | undefined {
  if (running.size >= limit.limit) return undefined;
  let isApart = true;
  for (const { overtaken } of running.values()) {
    if (overtaken >= ALONE_AFTER) return undefined;
    if (overtaken > 0) isApart = false;
  }
  const first = again[0];
  if (first === undefined || !isApart) {
    // No transaction begins before one that has to run alone.
    return first !== undefined && first.overtaken >= ALONE_AFTER ? undefined : fresh.shift();
  }
  if (first.overtaken >= ALONE_AFTER && running.size > 0) return undefined;
  return again.shift();
}
