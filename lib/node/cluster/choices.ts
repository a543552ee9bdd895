// Placements for the nodes of a cluster. Pure: each is a function of the nodes, the program and its arguments.

import { callable, text } from "../../process/options.js";
import { hash } from "../../process/stable-hash.js";
import type { Placement, ProgramNode } from "./placement.js";

/** The node with the fewest processes; of several, the first. */
export function leastLoaded(): Placement {
  return (nodes) => nodes.reduce((least, node) => (node.load < least.load ? node : least));
}

/**
 * A node with this label; of several, the one that `then` chooses. No node when none has the label.
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
 * One node for each key, the same for all that ask (rendezvous hashing). When a node goes, only its keys move; a node that
 * comes takes only keys that are its own from then on.
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
  // Two nodes may have one hash: their ids decide then, and not the order in which they came.
  return a === b ? one.node.id > other.node.id : a > b;
}
