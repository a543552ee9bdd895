// What the wires of a topology say about the flow of its tuples: where they come to, and what that depends on.

import type { Blueprint, Wire } from "./blueprint.js";
import type { BoltDefinition } from "./component.js";

/** A bolt that tuples of a component come to. */
export interface Outflow {
  readonly to: string;
  /** Any of its tasks will do for any tuple; else a tuple may be meant for one that has no room. */
  readonly anyTask: boolean;
}

/** The components that tuples of this one come to along these wires, at however many removes. */
export function reachedFrom(name: string, wires: readonly Wire[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [name];
  for (let from = open.pop(); from !== undefined; from = open.pop())
    for (const wire of wires)
      if (wire.from === from && !reached.has(wire.to)) {
        reached.add(wire.to);
        open.push(wire.to);
      }
  return reached;
}

/** The bolts that a spout's tuples come to. */
export function outflowsOf(spout: string, { wires }: Blueprint): readonly Outflow[] {
  const reached = reachedFrom(spout, wires);
  return [...reached].map((to) => ({
    to,
    anyTask: wires
      .filter((wire) => wire.to === to && (wire.from === spout || reached.has(wire.from)))
      .every(({ grouping }) => grouping.interchangeable === true),
  }));
}

/**
 * The bolts whose lack of room holds up this bolt: those that it emits to, but for those from which tuples may come back to
 * it. So bolts wait for each other in no circle: the last of those who wait emits to none that waits.
 */
export function targetsOf(bolt: string, { wires }: Blueprint): readonly Outflow[] {
  const own = wires.filter(({ from }) => from === bolt);
  return [...new Set(own.map(({ to }) => to))]
    .filter((to) => !reachedFrom(to, wires).has(bolt))
    .map((to) => ({
      to,
      anyTask: own.every((wire) => wire.to !== to || wire.grouping.interchangeable === true),
    }));
}

/**
 * Whether the time that a tuple of the spout takes tells how busy the bolts are: all that its trees come to settle a tuple
 * when their `execute` is done. A bolt of mode `manual` may hold a tuple for as long as it likes.
 */
export function isPrompt(spout: string, { wires, components }: Blueprint): boolean {
  const trees = wires.filter(
    ({ from, stream, anchored }) => anchored && !(from === spout && stream === "dead"),
  );
  const reached = reachedFrom(spout, trees);
  return components.every(
    ({ name, definition }) => !reached.has(name) || (definition as BoltDefinition).options.mode !== "manual",
  );
}
