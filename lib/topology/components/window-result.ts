// What one window emitted. When a part of it fails downstream, the tuples of the window fail with it and come again, and the
// window is handed over again with them.

import type { Tuple } from "../definition/tuple.js";
import type { Lineage } from "../runtime/lineage.js";
import type { WindowResult } from "../runtime/window-results.js";
import type { Place } from "../tracking/places.js";
import type { WindowLog } from "./window-log.js";
import type { WindowView } from "./window-table.js";

/** It outlives the process of the task, as the tuples that it consists of do. */
export class HandedOver implements WindowResult {
  readonly #window: WindowView<Tuple>;
  readonly #log: WindowLog;
  readonly #lineage: Lineage;
  readonly #broken = new Set<Place>();
  readonly #overlaps: boolean;
  #isDone = false;

  /** @param overlaps - other windows have the same tuples */
  constructor(window: WindowView<Tuple>, log: WindowLog, lineage: Lineage, overlaps: boolean) {
    this.#window = window;
    this.#log = log;
    this.#lineage = lineage;
    this.#overlaps = overlaps;
  }

  broke(descendant: Tuple): void {
    const { start, end } = this.#window;
    for (const place of this.#lineage.placesOf(descendant))
      if (start <= place.time && place.time < end) this.#broken.add(place);
    if (this.#isDone) this.#reopen();
  }

  /** The function is done with the window. A part of the result may have failed before. */
  done(): void {
    this.#isDone = true;
    this.#reopen();
  }

  #reopen(): void {
    const window = this.#window;
    const log = this.#log;
    const broken = this.#broken;
    if (broken.size === 0) return;
    // A flush hands over windows that have not ended, and the log does not have those. If they overlap, it is not known
    // which of them had a tuple.
    const isKnown = !this.#overlaps || log.firstOpen(window.start) !== window.start;
    if (isKnown) log.remove(window.start);
    for (const place of broken)
      if (isKnown) this.#lineage.reopen(place);
      else place.isBroken = true;
    this.#broken.clear();
  }
}
