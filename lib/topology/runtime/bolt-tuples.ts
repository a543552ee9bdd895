// The tuples that one process of a bolt's task has taken and not settled. When the process ends, they fail.

import { TAKEN, type Tuple } from "../definition/tuple.js";
import type { WindowResult } from "./window-results.js";

export class BoltTuples {
  /** The tuple in work, to which emitted tuples are anchored. None when several may be in work. */
  current: Tuple | undefined = undefined;
  /** With `concurrency`: the tuples in work. */
  readonly inWork: Set<Tuple> = new Set();
  /** Of mode `manual`: the tuples that the bolt holds. */
  readonly held: Set<Tuple> = new Set();
  /** Of a bolt that collects tuples: those that its function works on. */
  given: readonly Tuple[] | undefined = undefined;
  /** Of a bolt with windows: the window that its function works on. */
  result: WindowResult | undefined = undefined;
  /** `flush` has begun and not ended. */
  flushing = false;

  /** The number of tuples in work. */
  get busy(): number {
    return this.inWork.size + (this.current === undefined ? 0 : 1);
  }

  /**
   * The process has ended. Returns the tuples that are lost with it, each with whether it is innocent. A bolt that collects
   * tuples (a batch, a window) says in `given` which ones its function got. If the function had some, or the process did not
   * crash, only those are blamed, and all others are innocent. Otherwise the culprit is unknown, and all are blamed.
   */
  abandon(crashed: boolean): (readonly [lost: Tuple, isInnocent: boolean])[] {
    const { held, current, inWork, given } = this;
    const lost = new Set(held);
    for (const tuple of current === undefined ? inWork : [current, ...inWork])
      if (tuple.state === TAKEN) lost.add(tuple);
    this.current = undefined;
    inWork.clear();
    held.clear();
    const isKnown = given !== undefined && (given.length > 0 || !crashed);
    const worked = new Set(given);
    return [...lost].map((tuple) => [tuple, isKnown && !worked.has(tuple)]);
  }
}
