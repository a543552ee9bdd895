// The decisions of windows: which items a window has, when it is handed over, and when an item is let go. No
// process, no clock: whoever drives a machine tells it the time, and then takes window after window for as
// long as one is due.
//
//   tick(time), add(time, item), flush()
//   next() ─▶ a window ─▶ done() or failed() ─▶ items to settle
//     ▲          │                       │
//     ├─ again() ┘                       │
//     └──────────────────────────────────┘
//
// Each item is given back once: by the `done` of the last window that can hold it, by the `failed` of a
// window that it is in, or by `clear`. A machine changes in place, but as a pure one would: the same calls
// give the same answers.

import type { WindowView } from "./window-held.js";

export type { WindowView } from "./window-held.js";

/** What became of an item that was to be added. */
export type Added =
  /** It is held, and will come back. */
  | "held"
  /** It is not: each window that could have had it was handed over. */
  | "late"
  /** It is not: there is no room. */
  | "full";

export interface WindowMachine<T> {
  /** Items held. */
  readonly held: number;
  /**
   * An item has come; the time is for time windows. Take the windows that are due before, and after.
   *
   * @param again - it was held before, and comes again: there is room for it
   */
  add(time: number, item: T, again?: boolean): Added;
  /** For time windows: time is as late as this. An earlier time than before changes nothing. */
  tick(time: number): void;
  /** No more will come: all windows that have items are due. {@link WindowMachine.clear} ends it. */
  flush(): void;
  /**
   * The next window that is due, the earliest first. It is settled by `done`, `failed` or `again` before any other
   * call. Windows of time that end after `limit` are not due.
   */
  next(limit?: number): WindowView<T> | undefined;
  /**
   * The window has been worked on. Returns its items that no later window can hold; `settled` ones are let go
   * untold.
   */
  done(settled?: ReadonlySet<T>): readonly T[];
  /** It could not be: returns all of its items, which later windows will not have. */
  failed(): readonly T[];
  /** It could not be, and is due still; `settled` ones are let go untold. */
  again(settled?: ReadonlySet<T>): void;
  /** Gives back whatever is held, and begins anew. */
  clear(): readonly T[];
}
