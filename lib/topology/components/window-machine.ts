// The rules of a task with windows: when a window is handed over, when it is retried or given up, and when a tuple is
// admitted. The window table knows which items a window has. No process, no clock.
//
//     arrive ──▶ due? ── a window ──▶ hand-over ── done ───▶ release ──▶ due?
//                  │                       └────── threw ──▶ retry: waiting ── retry ──▶ due?
//                  └── none ──▶ admit the item               or fail ──▶ due?
//
// One window is in progress at a time. While a window waits for its retry, items are admitted, and no window is handed
// over. The table changes in place, for speed: `decide` gives the same answers for the same events.

import { invariant } from "../../process/invariant.js";
import type { WindowTable, WindowView } from "./window-table.js";

export interface State<T> {
  readonly table: WindowTable<T>;
  /** Retries of a window before it fails. */
  readonly retries: number;
  /** Failed tries of the window that is due. */
  readonly tries: number;
  readonly phase: "idle" | "working" | "waiting";
  /** Admitted as soon as no window is due. */
  readonly arrival: Arrival<T> | undefined;
  /** All windows are due, until the table is empty. */
  readonly isFlushing: boolean;
  /** `look` has been scheduled. */
  readonly isLooking: boolean;
}

export interface Arrival<T> {
  /** Time of the item. */
  readonly time: number;
  readonly item: T;
  /** An earlier try of the item was held here, so it is always admitted, and windows may wait for the item. */
  readonly isExpected: boolean;
}

export type Event<T> =
  /** An item came; `now` is the time to which windows of time move on. */
  | { readonly type: "arrive"; readonly arrival: Arrival<T>; readonly now: number }
  /** Items that were gathered: all are admitted before a window is due. */
  | { readonly type: "return"; readonly arrivals: readonly Omit<Arrival<T>, "isExpected">[] }
  | { readonly type: "tick"; readonly now: number }
  | { readonly type: "flush" }
  /** Follows `check-due`. Windows that end after `limit` are not due. */
  | { readonly type: "due"; readonly limit: number }
  /** The window of the last `hand-over` is done. Its items in `settled` are settled already. */
  | { readonly type: "done" | "threw"; readonly settled: ReadonlySet<T> }
  /** The wait of `schedule-retry` is over. */
  | { readonly type: "retry" }
  /** The wait of `schedule-look` is over. */
  | { readonly type: "look" };

export type Effect<T> =
  /** Leads to `due`, with the limit of that moment. */
  | { readonly type: "check-due" }
  /** Leads to `done` or `threw`. */
  | { readonly type: "hand-over"; readonly window: WindowView<T> }
  /** The window in progress is done, and no later window has these items. */
  | { readonly type: "release"; readonly items: readonly T[] }
  /** The window in progress has failed for good, with these items. */
  | { readonly type: "fail"; readonly items: readonly T[] }
  /** After a flush: these items are in no window. */
  | { readonly type: "ack"; readonly items: readonly T[] }
  /** `retry` comes after the backoff of this attempt. */
  | { readonly type: "schedule-retry"; readonly attempt: number }
  /** `look` comes after a while: windows wait for a limit that only time changes. */
  | { readonly type: "schedule-look" }
  | { readonly type: "cancel-timers" }
  /** The item was not admitted: its windows are over, or too many items are held. */
  | { readonly type: "late" | "full"; readonly item: T };

type Decision<T> = readonly [State<T>, readonly Effect<T>[]];

const CHECK_DUE = [{ type: "check-due" }] as const;

export function initial<T>(table: WindowTable<T>, retries: number): State<T> {
  return {
    table,
    retries,
    tries: 0,
    phase: "idle",
    arrival: undefined,
    isFlushing: false,
    isLooking: false,
  };
}

export function decide<T>(state: State<T>, event: Event<T>): Decision<T> {
  switch (event.type) {
    case "arrive": {
      const { arrival, now } = event;
      state.table.tick(now);
      const arrived = { ...state, arrival };
      // An expected item goes first, because windows may wait for it. Otherwise windows go first: they may release items.
      return arrival.isExpected ? admitted(arrived, []) : [arrived, CHECK_DUE];
    }
    case "return": {
      const late = event.arrivals.filter(({ time, item }) => state.table.add(time, item, true) !== "held");
      return [state, [...late.map(({ item }) => ({ type: "late", item }) as const), ...CHECK_DUE]];
    }
    case "tick":
      state.table.tick(event.now);
      return [state, CHECK_DUE];
    case "flush":
      state.table.flush();
      return [
        { ...state, phase: "idle", isFlushing: true, isLooking: false },
        [{ type: "cancel-timers" }, ...CHECK_DUE],
      ];
    case "due":
      return due(state, event.limit);
    case "done":
    case "threw":
      invariant(state.phase === "working", "a window ends only while it is in progress");
      return event.type === "done" ? done(state, event.settled) : threw(state, event.settled);
    case "retry":
      return [{ ...state, phase: "idle" }, CHECK_DUE];
    case "look":
      return [{ ...state, isLooking: false }, CHECK_DUE];
    default:
      return event satisfies never;
  }
}

function due<T>(state: State<T>, limit: number): Decision<T> {
  if (state.phase === "waiting") return admitted(state, []);
  const window = state.table.next(limit);
  if (window !== undefined) return [{ ...state, phase: "working" }, [{ type: "hand-over", window }]];
  if (limit < Number.POSITIVE_INFINITY)
    return state.isLooking
      ? admitted(state, [])
      : admitted({ ...state, isLooking: true }, [{ type: "schedule-look" }]);
  if (!state.isFlushing) return admitted(state, []);
  return admitted({ ...state, isFlushing: false }, [{ type: "ack", items: state.table.clear() }]);
}

function admitted<T>(state: State<T>, effects: readonly Effect<T>[]): Decision<T> {
  const { arrival } = state;
  if (arrival === undefined) return [state, effects];
  const { time, item, isExpected } = arrival;
  const added = state.table.add(time, item, isExpected);
  const next = { ...state, arrival: undefined };
  return [next, [...effects, ...(added === "held" ? CHECK_DUE : [{ type: added, item }])]];
}

function done<T>(state: State<T>, settled: ReadonlySet<T>): Decision<T> {
  const items = state.table.done(settled);
  return [{ ...state, tries: 0, phase: "idle" }, [{ type: "release", items }, ...CHECK_DUE]];
}

function threw<T>(state: State<T>, settled: ReadonlySet<T>): Decision<T> {
  if (state.tries < state.retries) {
    state.table.again(settled);
    const attempt = state.tries + 1;
    const waiting = { ...state, tries: attempt, phase: "waiting" } as const;
    return [waiting, [{ type: "schedule-retry", attempt }, ...CHECK_DUE]];
  }
  const items = state.table.failed();
  return [{ ...state, tries: 0, phase: "idle" }, [{ type: "fail", items }, ...CHECK_DUE]];
}
