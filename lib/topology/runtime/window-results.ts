// Which tuples descend from what windows emitted. Only a topology with such windows has this table.

import type { Tuple } from "../definition/tuple.js";

/** What a window emitted. */
export interface WindowResult {
  /** A tuple that descends from it has failed, and with it the tuples that it was anchored to. */
  broke(descendant: Tuple): void;
}

export class WindowResults {
  private readonly byTuple = new WeakMap<Tuple, readonly WindowResult[]>();

  /** A copy was anchored. @param own - the window that it was emitted from */
  join(copy: Tuple, anchors: Tuple | readonly Tuple[], own: WindowResult | undefined): void {
    const { byTuple } = this;
    const all = new Set<WindowResult>(own === undefined ? [] : [own]);
    for (const anchor of [anchors].flat() as readonly Tuple[])
      for (const result of byTuple.get(anchor) ?? []) all.add(result);
    if (all.size > 0) byTuple.set(copy, [...all]);
  }

  /** Another copy is sent in place of a tuple. */
  move(tuple: Tuple, copy: Tuple): void {
    const results = this.byTuple.get(tuple);
    if (results !== undefined) this.byTuple.set(copy, results);
  }

  failed(tuple: Tuple): void {
    for (const result of this.byTuple.get(tuple) ?? []) result.broke(tuple);
  }
}
