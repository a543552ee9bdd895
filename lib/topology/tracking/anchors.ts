// A copy of a tuple joins the trees of its anchors: with a new edge for each anchor and, in a tree that it joins more than
// once, with the XOR of these edges.

import type { Environment } from "../../process/environment.js";
import type { Tuple } from "../definition/tuple.js";
import { IdTable } from "./id-table.js";

const TWO_32 = 0x1_0000_0000;

/** A random 32-bit integer. */
export function random32(env: Pick<Environment, "random">): number {
  return (env.random() * TWO_32) | 0;
}

/** Integers of one entry of `Tuple.more`: root and edge, each in two halves. */
const MORE_STRIDE = 4;

/** Visits the entries of `Tuple.more`. */
export function eachTree(
  more: Int32Array,
  visit: (rootHi: number, rootLo: number, edgeHi: number, edgeLo: number) => void,
): void {
  for (let at = 0; at < more.length; at += MORE_STRIDE)
    visit(more[at] as number, more[at + 1] as number, more[at + 2] as number, more[at + 3] as number);
}

/** The copy joins the trees of the anchors. Time and memory grow with the number of these trees. */
export function joinTrees(
  copy: Tuple,
  anchors: Tuple | readonly Tuple[],
  env: Pick<Environment, "random">,
): void {
  if (!isMany(anchors)) joinTree(copy, anchors, env);
  else if (anchors.length === 1) joinTree(copy, anchors[0] as Tuple, env);
  else joinMany(copy, anchors, env);
}

function isMany(anchors: Tuple | readonly Tuple[]): anchors is readonly Tuple[] {
  return Array.isArray(anchors);
}

function joinTree(copy: Tuple, anchor: Tuple, env: Pick<Environment, "random">): void {
  if (!anchor.anchored) return;
  const edgeHi = random32(env);
  const edgeLo = random32(env) || 1;
  anchor.childrenHi ^= edgeHi;
  anchor.childrenLo ^= edgeLo;
  copy.rootHi = anchor.rootHi;
  copy.rootLo = anchor.rootLo;
  copy.edgeHi = edgeHi;
  copy.edgeLo = edgeLo;
  copy.born = anchor.born;
  const { more } = anchor;
  if (more === undefined) return;
  copy.more = more.slice();
  for (let at = 0; at < more.length; at += MORE_STRIDE) {
    copy.more[at + 2] = edgeHi;
    copy.more[at + 3] = edgeLo;
  }
}

function joinMany(copy: Tuple, anchors: readonly Tuple[], env: Pick<Environment, "random">): void {
  const trees = new IdTable();
  for (const anchor of anchors) {
    if (!anchor.anchored) continue;
    const edgeHi = random32(env);
    const edgeLo = random32(env) || 1;
    anchor.childrenHi ^= edgeHi;
    anchor.childrenLo ^= edgeLo;
    if (anchor.born > copy.born) copy.born = anchor.born;
    trees.mix(trees.add(anchor.rootHi, anchor.rootLo), edgeHi, edgeLo);
    const { more } = anchor;
    if (more === undefined) continue;
    for (let at = 0; at < more.length; at += MORE_STRIDE)
      trees.mix(trees.add(more[at] as number, more[at + 1] as number), edgeHi, edgeLo);
  }
  if (trees.size === 0) return;
  const more = new Int32Array((trees.size - 1) * MORE_STRIDE);
  let at = -MORE_STRIDE;
  trees.forEach((slot) => {
    if (at < 0) {
      copy.rootHi = trees.hi(slot);
      copy.rootLo = trees.lo(slot);
      copy.edgeHi = trees.xorHi(slot);
      copy.edgeLo = trees.xorLo(slot);
    } else {
      more[at] = trees.hi(slot);
      more[at + 1] = trees.lo(slot);
      more[at + 2] = trees.xorHi(slot);
      more[at + 3] = trees.xorLo(slot);
    }
    at += MORE_STRIDE;
  });
  if (more.length > 0) copy.more = more;
}
