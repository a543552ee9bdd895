// A table of items and their windows: which items a window has, when it is due, and when an item is released. The caller
// passes the time, and then takes windows for as long as one is due.
//
//   tick(time), add(time, item), flush()
//   next() ─▶ a window ─▶ done() or failed() ─▶ items to settle
//     ▲          │                       │
//     ├─ again() ┘                       │
//     └──────────────────────────────────┘
//
// Each item is returned once: by `done` of the last window that can hold the item, by `failed` of a window with the item,
// or by `clear`. A table changes in place, and is deterministic: the same calls give the same answers.

import type { WindowView } from "./window-held.js";

export type { WindowView } from "./window-held.js";

/** The result of adding an item. */
export type Added =
  /** The item is held, and is returned later. */
  | "held"
  /** The item is not held: each window that could hold it was handed over. */
  | "late"
  /** The item is not held: `maxHeld` items are held already. */
  | "full";

export interface WindowTable<T> {
  /** Items held. */
  readonly held: number;
  /**
   * Adds an item; `time` is for windows of time. Take the windows that are due both before and after this call.
   *
   * @param again - the item was held before and comes again, so it is always held
   */
  add(time: number, item: T, again?: boolean): Added;
  /** For windows of time: moves time on. An earlier time than before changes nothing. */
  tick(time: number): void;
  /** Makes all windows with items due, until {@link WindowTable.clear}. */
  flush(): void;
  /**
   * The next window that is due, the earliest first. `done`, `failed` or `again` has to follow before any other call.
   * Windows of time that end after `limit` are not due.
   */
  next(limit?: number): WindowView<T> | undefined;
  /**
   * The window is done. Returns its items that no later window can hold. Items in `settled` are released without being
   * returned.
   */
  done(settled?: ReadonlySet<T>): readonly T[];
  /** The window has failed. Returns all of its items, which are in no later window. */
  failed(): readonly T[];
  /** The window has failed, and stays due. Items in `settled` are released without being returned. */
  again(settled?: ReadonlySet<T>): void;
  /** Returns all held items, and starts again. */
  clear(): readonly T[];
}
