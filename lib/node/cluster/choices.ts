// Placements for the nodes of a cluster. Pure: each is a function of the nodes, the program and its arguments.

import { callable, text } from "../../process/options.js";
import { hash } from "../../process/stable-hash.js";
import type { Placement, ProgramNode } from "./placement.js";

/** Chooses the node with the fewest processes. If there are several, the first. */
export function leastLoaded(): Placement {
  return (nodes) => nodes.reduce((least, node) => (node.load < least.load ? node : least));
}

/**
 * Chooses a node with this label. If there are several, `then` decides. If there is none, the child waits.
 *
 * @param then - default {@link leastLoaded}
 * @throws OptionError
 * @example node.on("resize", [], { placement: byLabel("disk", "fast") });
 */
export function byLabel(label: string, value: string, then: Placement = leastLoaded()): Placement {
  text("label", label);
  text("value", value);
  callable("then", then, "a placement, such as leastLoaded()");
  return (nodes, program, args) => {
    const able = nodes.filter(({ labels }) => Object.hasOwn(labels, label) && labels[label] === value);
    return able.length === 0 ? undefined : then(able, program, args);
  };
}

/**
 * Gives each key one node (rendezvous hashing), the same on all nodes that know the same nodes. When a node goes, only its keys move.
 * When a node joins, it takes only the keys that it has from then on.
 *
 * @param keyOf - the key of a child. Default: its first argument, as text
 * @throws OptionError
 * @example node.on("cart", ["user-17"], { placement: byKey() });
 */
export function byKey(
  keyOf: (program: string, args: readonly unknown[]) => string = (_program, [key]) => String(key),
): Placement {
  callable("keyOf", keyOf, "a function of the program and the arguments");
  return (nodes, program, args) => {
    const key = keyOf(program, args);
    return nodes.reduce((best, node) => (isNearer(key, node, best) ? node : best));
  };
}

function isNearer(key: string, one: ProgramNode, other: ProgramNode): boolean {
  const [a, b] = [one, other].map(({ node }) => hash(key, hash(node.id))) as [number, number];
  // If two nodes have the same hash, their ids decide, so the order in which they joined does not matter.
  return a === b ? one.node.id > other.node.id : a > b;
}
