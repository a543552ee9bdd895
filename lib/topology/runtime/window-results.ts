// Which tuples descend from what windows emitted. Only a topology with such windows has this table.

import type { Tuple } from "../definition/tuple.js";

/** The tuples that a window emitted. */
export interface WindowResult {
  /** A tuple that descends from it has failed, and with it the tuples that it was anchored to. */
  broke(descendant: Tuple): void;
}

export class WindowResults {
  /** The components that emitted such tuples. */
  readonly #carriers = new Set<string>();
  readonly #byTuple = new WeakMap<Tuple, readonly WindowResult[]>();

  /** A copy was anchored. @param own - the window that it was emitted from */
  join(copy: Tuple, anchors: Tuple | readonly Tuple[], own: WindowResult | undefined): void {
    const carriers = this.#carriers;
    const byTuple = this.#byTuple;
    let all: Set<WindowResult> | undefined;
    // Most tuples of a window do not descend from another one.
    if (carriers.size > 0)
      for (const anchor of (Array.isArray(anchors) ? anchors : [anchors]) as readonly Tuple[])
        if (carriers.has(anchor.component))
          for (const result of byTuple.get(anchor) ?? []) {
            all ??= new Set();
            all.add(result);
          }
    if (own === undefined && all === undefined) return;
    carriers.add(copy.component);
    byTuple.set(
      copy,
      all === undefined ? [own as WindowResult] : [...(own === undefined ? [] : [own]), ...all],
    );
  }

  /** Another copy is sent in place of a tuple. */
  move(tuple: Tuple, copy: Tuple): void {
    const results = this.#byTuple.get(tuple);
    if (results !== undefined) this.#byTuple.set(copy, results);
  }

  failed(tuple: Tuple): void {
    for (const result of this.#byTuple.get(tuple) ?? []) result.broke(tuple);
  }
}
