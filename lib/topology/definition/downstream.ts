// What the subscriptions of a topology say about the flow of its tuples: where they come to, and what that depends on.

import type { Blueprint, Subscription } from "./blueprint.js";
import type { BoltDefinition } from "./component.js";

/** A bolt that tuples of a component come to. */
export interface Outflow {
  readonly to: string;
  /** Any of its tasks will do for any tuple; else a tuple may be meant for one that has no room. */
  readonly anyTask: boolean;
}

/** The components that tuples of this one come to along these subscriptions, at however many removes. */
export function reachedFrom(name: string, subscriptions: readonly Subscription[]): ReadonlySet<string> {
  const reached = new Set<string>();
  const open = [name];
  for (let from = open.pop(); from !== undefined; from = open.pop())
    for (const subscription of subscriptions)
      if (subscription.from === from && !reached.has(subscription.to)) {
        reached.add(subscription.to);
        open.push(subscription.to);
      }
  return reached;
}

/** The bolts that a spout's tuples come to. */
export function outflowsOf(spout: string, { subscriptions }: Blueprint): readonly Outflow[] {
  const reached = reachedFrom(spout, subscriptions);
  return [...reached].map((to) => ({
    to,
    anyTask: subscriptions
      .filter(
        (subscription) =>
          subscription.to === to && (subscription.from === spout || reached.has(subscription.from)),
      )
      .every(({ grouping }) => grouping.interchangeable === true),
  }));
}

/**
 * The bolts whose lack of room holds up this bolt: those that it emits to, but for those from which tuples may come back to
 * it. So bolts wait for each other in no circle: the last of those who wait emits to none that waits.
 */
export function targetsOf(bolt: string, { subscriptions }: Blueprint): readonly Outflow[] {
  const own = subscriptions.filter(({ from }) => from === bolt);
  return [...new Set(own.map(({ to }) => to))]
    .filter((to) => !reachedFrom(to, subscriptions).has(bolt))
    .map((to) => ({
      to,
      anyTask: own.every(
        (subscription) => subscription.to !== to || subscription.grouping.interchangeable === true,
      ),
    }));
}

/**
 * Whether the time that a tuple of the spout takes tells how busy the bolts are: all that its trees come to settle a tuple
 * when their `execute` is done. A bolt of mode `manual` may hold a tuple for as long as it likes.
 */
export function isPrompt(spout: string, { subscriptions, components }: Blueprint): boolean {
  const trees = subscriptions.filter(
    ({ from, stream, anchored }) => anchored && !(from === spout && stream === "dead"),
  );
  const reached = reachedFrom(spout, trees);
  return components.every(
    ({ name, definition }) => !reached.has(name) || (definition as BoltDefinition).options.mode !== "manual",
  );
}
