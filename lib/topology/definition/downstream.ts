// Consequences of a topology's subscriptions: the bolts that the tuples of a component reach, and which component waits for which.

import type { Blueprint, Subscription } from "./blueprint.js";
import type { BoltDefinition } from "./component.js";

/** A bolt that the tuples of a component reach. */
export interface Outflow {
  readonly to: string;
  /** Any of its tasks can take any tuple. Otherwise a tuple may be meant for a task that has no buffer space. */
  readonly anyTask: boolean;
}

/** The components that the tuples of a component reach along these subscriptions, directly or through others. */
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

/** The bolts that a spout's tuples reach. */
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
 * The bolts that this bolt waits for when they have no buffer space: those that it emits to, except those from which tuples may
 * come back to it. So bolts never wait for each other in a circle.
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
 * Whether the time that a spout's tuple takes shows how busy the bolts are. It does when every bolt that its trees reach
 * settles a tuple at the end of `execute`. A bolt of mode `manual` may hold a tuple for any time.
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

/** The streams of a component that have subscriptions, all of them unanchored. */
export function unanchoredStreams(component: string, { subscriptions }: Blueprint): ReadonlySet<string> {
  const own = subscriptions.filter(({ from }) => from === component);
  const anchored = new Set(own.filter((one) => one.anchored).map(({ stream }) => stream));
  return new Set(own.map(({ stream }) => stream).filter((stream) => !anchored.has(stream)));
}
