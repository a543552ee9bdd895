// Finds the spouts' tuples that a tuple descends from, by the roots of its trees.

import type { Tuple } from "../definition/tuple.js";
import { eachTree } from "../tracking/anchors.js";
import type { PendingTuple } from "../tracking/pending-tuple.js";
import type { RunningTopology } from "./running-topology.js";

/**
 * The spout's tuple that a tuple descends from, and the try that it belongs to. Of several spouts' tuples the one that was
 * emitted first, so that it is the same at every try. Undefined when it is settled, or was never tracked.
 */
export function pendingOf(
  run: RunningTopology,
  tuple: Tuple,
): { readonly pending: PendingTuple; readonly attempt: number } | undefined {
  if (tuple.more === undefined) {
    // Most tuples have one tree.
    const pending = find(run, tuple.rootHi, tuple.rootLo, false);
    return pending === undefined ? undefined : { pending, attempt: tuple.rootLo };
  }
  let first: { readonly pending: PendingTuple; readonly attempt: number } | undefined;
  for (const { hi, lo } of treesOf(tuple)) {
    const pending = find(run, hi, lo, false);
    if (pending === undefined || (first !== undefined && first.pending.serial < pending.serial)) continue;
    first = { pending, attempt: lo };
  }
  return first;
}

/** @param current - of trees in flight only, not of former ones */
export function find(
  run: RunningTopology,
  hi: number,
  lo: number,
  current: boolean,
): PendingTuple | undefined {
  for (const spout of run.registry.spouts) {
    for (const slots of [spout.slots, spout.retired])
      for (const { spout: tuples } of slots) {
        const pending = current ? tuples.current(hi, lo) : tuples.find(hi, lo);
        if (pending !== undefined) return pending;
      }
  }
  return undefined;
}

/** The roots of the trees of a tuple. */
export function treesOf(tuple: Tuple): { readonly hi: number; readonly lo: number }[] {
  if (!tuple.anchored) return [];
  const trees = [{ hi: tuple.rootHi, lo: tuple.rootLo }];
  if (tuple.more !== undefined) eachTree(tuple.more, (hi, lo) => trees.push({ hi, lo }));
  return trees;
}
