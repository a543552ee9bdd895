// Faults of the graph of a pipeline, which types cannot find: all of them at once, for definitions in TypeScript and in YAML.

import type { BatchLimits } from "./adapter.js";
import { faultAt, type KeyedFault, type Keys, suggestionFor } from "./fault.js";
import { PIPELINE_DEFAULTS } from "./policy.js";
import { BATCH_SHAPE } from "./policy-shape.js";
import { shapeFaults } from "./shape.js";

/** A pipeline as a graph, with the place of each part in its definition. */
export interface Plan {
  readonly routes: readonly PlannedRoute[];
  /** The sources. None: messages are given at the start of an execution, to any queue. */
  readonly feeds: readonly PlannedLink[];
  /** The hop limit, if the definition states one. */
  readonly maxHops: number | undefined;
}

/** A route of a plan. */
export interface PlannedRoute {
  readonly name: string;
  readonly keys: Keys;
  readonly from: string;
  readonly to: readonly PlannedLink[];
  readonly firstMatch: boolean;
  readonly batches: readonly { readonly keys: Keys; readonly limits: BatchLimits }[];
}

/** A queue that messages go to. */
export interface PlannedLink {
  readonly queue: string;
  readonly keys: Keys;
  /** Whether it has a condition. */
  readonly conditional: boolean;
}

/** All faults of a graph. */
export function graphFaults(plan: Plan): KeyedFault[] {
  const graph = graphOf(plan);
  return RULES.flatMap((rule) => rule(plan, graph));
}

/** The route that takes from each queue, and which routes follow on each. */
interface RouteGraph {
  readonly readers: ReadonlyMap<string, number>;
  /** For each route, the routes that it publishes to, without repetition. */
  readonly next: readonly (readonly number[])[];
}

function graphOf({ routes }: Plan): RouteGraph {
  const readers = new Map<string, number>();
  for (const [i, { from }] of routes.entries()) if (!readers.has(from)) readers.set(from, i);
  const next = routes.map(({ to }) => [
    ...new Set(to.map(({ queue }) => readers.get(queue)).filter((reader) => reader !== undefined)),
  ]);
  return { readers, next };
}

type Rule = (plan: Plan, graph: RouteGraph) => KeyedFault[];

const RULES: readonly Rule[] = [
  someRoute,
  oneReaderEach,
  queuesAreRead,
  routesAreReached,
  circlesEnd,
  firstMatchesMatch,
  oneBatchEach,
  batchesEnd,
];

function someRoute({ routes }: Plan): KeyedFault[] {
  return routes.length > 0 ? [] : [faultAt(["routes"], "one route or more", "none")];
}

function oneReaderEach({ routes }: Plan, { readers }: RouteGraph): KeyedFault[] {
  return routes.flatMap(({ from, keys }, i) => {
    const first = readers.get(from) as number;
    if (first === i) return [];
    const other = routes[first] as PlannedRoute;
    return [
      faultAt(
        [...keys, "from"],
        "a queue that no other route takes from",
        `${JSON.stringify(from)}, which ${other.name} takes from`,
      ),
    ];
  });
}

/** Most queues for which a similar name is searched among all others. */
const SUGGESTIONS = 50;

function queuesAreRead({ routes, feeds }: Plan, { readers }: RouteGraph): KeyedFault[] {
  return [...feeds, ...routes.flatMap(({ to }) => to)]
    .filter(({ queue }) => !readers.has(queue))
    .map(({ queue, keys }, i) =>
      faultAt(
        keys,
        "a queue that a route takes from",
        `${JSON.stringify(queue)}, which no route takes from`,
        i < SUGGESTIONS ? suggestionFor(readers.keys(), queue) : undefined,
      ),
    );
}

/**
 * A message that has passed `maxHops` routes is given up, so that a route further away than that is not reached either. The second
 * reader of a queue has a fault of its own.
 */
function routesAreReached({ routes, feeds, maxHops }: Plan, { readers, next }: RouteGraph): KeyedFault[] {
  if (feeds.length === 0) return [];
  const limit = maxHops ?? PIPELINE_DEFAULTS.pipeline.maxHops;
  const starts = feeds.map(({ queue }) => readers.get(queue)).filter((reader) => reader !== undefined);
  const distances = distancesFrom(starts, next);
  return routes.flatMap(({ keys, from }, i) => {
    if (readers.get(from) !== i) return [];
    const distance = distances[i];
    if (distance === undefined)
      return [
        faultAt(keys, "a route that some source leads to", `no way to its queue ${JSON.stringify(from)}`),
      ];
    if (distance < limit) return [];
    const found = `${distance} ${distance === 1 ? "route" : "routes"} on the shortest way to it`;
    return [faultAt(keys, "less than maxHops routes away from a source", found)];
  });
}

/** The number of steps to each node from the nearest of `starts`; undefined where no way leads. */
function distancesFrom(
  starts: readonly number[],
  next: readonly (readonly number[])[],
): (number | undefined)[] {
  const distances: (number | undefined)[] = next.map(() => undefined);
  const queue = [...new Set(starts)];
  for (const start of queue) distances[start] = 0;
  for (const at of queue) {
    for (const to of next[at] as readonly number[]) {
      if (distances[to] !== undefined) continue;
      distances[to] = (distances[at] as number) + 1;
      queue.push(to);
    }
  }
  return distances;
}

/** Most routes of a circle in a text. */
const SHOWN_CIRCLE = 20;

function circlesEnd({ routes, maxHops }: Plan, { next, readers }: RouteGraph): KeyedFault[] {
  if (maxHops !== undefined) return [];
  return circles(next).map((circle) => {
    const first = routes[circle[0] as number] as PlannedRoute;
    const second = circle[1] ?? (circle[0] as number);
    const link = first.to.find(({ queue }) => readers.get(queue) === second) as PlannedLink;
    if (circle.length === 1)
      return faultAt(
        link.keys,
        "another queue than the route's own, unless the pipeline states maxHops",
        `${JSON.stringify(link.queue)}, which the route itself takes from`,
      );
    const shown = circle.length > SHOWN_CIRCLE ? circle.slice(0, SHOWN_CIRCLE) : circle;
    const names = [...shown, circle[0] as number].map((i) => (routes[i] as PlannedRoute).name);
    if (shown !== circle) names.splice(-1, 0, `(${circle.length - shown.length} routes)`);
    return faultAt(
      link.keys,
      "a queue that does not lead back to the route, unless the pipeline states maxHops",
      `the circle ${names.join(" -> ")}`,
    );
  });
}

/** One shortest circle for each set of nodes that lead to each other, from the first node of the set on. */
function circles(next: readonly (readonly number[])[]): number[][] {
  const sets = setsInCircles(next);
  const seen = new Set<number>();
  return sets.flatMap((set, start) => {
    if (set === undefined || seen.has(set)) return [];
    seen.add(set);
    const cameFrom = new Map<number, number>();
    const queue = [start];
    for (const at of queue) {
      for (const to of next[at] as readonly number[]) {
        if (to === start) return [wayTo(at, cameFrom)];
        if (sets[to] !== set || cameFrom.has(to)) continue;
        cameFrom.set(to, at);
        queue.push(to);
      }
    }
    return [];
  });
}

function wayTo(end: number, cameFrom: ReadonlyMap<number, number>): number[] {
  const way = [end];
  for (let at = cameFrom.get(end); at !== undefined; at = cameFrom.get(at)) way.push(at);
  return way.reverse();
}

/**
 * Kosaraju's algorithm, without recursion: nodes that lead to each other have the same number, and nodes that do not lead back to
 * themselves have none.
 */
function setsInCircles(next: readonly (readonly number[])[]): (number | undefined)[] {
  const back: number[][] = next.map(() => []);
  for (const [from, all] of next.entries()) for (const to of all) (back[to] as number[]).push(from);
  const sets: (number | undefined)[] = next.map(() => undefined);
  const placed = new Set<number>();
  for (const root of orderOfEnds(next).reverse()) {
    if (placed.has(root)) continue;
    placed.add(root);
    const members = [root];
    for (const at of members) {
      for (const to of back[at] as number[]) {
        if (placed.has(to)) continue;
        placed.add(to);
        members.push(to);
      }
    }
    if (members.length > 1 || (next[root] as readonly number[]).includes(root))
      for (const member of members) sets[member] = root;
  }
  return sets;
}

/** The nodes in the order in which a search into the depth leaves them. */
function orderOfEnds(next: readonly (readonly number[])[]): number[] {
  const order: number[] = [];
  const visited = new Set<number>();
  for (const root of next.keys()) {
    if (visited.has(root)) continue;
    visited.add(root);
    const path = [{ node: root, edge: 0 }];
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const to = (next[top.node] as readonly number[])[top.edge++];
      if (to === undefined) {
        order.push(top.node);
        path.pop();
      } else if (!visited.has(to)) {
        visited.add(to);
        path.push({ node: to, edge: 0 });
      }
    }
  }
  return order;
}

/** A message that no outbound queue takes would be lost, and a queue behind one that takes everything gets none. */
function firstMatchesMatch({ routes }: Plan): KeyedFault[] {
  return routes.flatMap(({ firstMatch, to }) => {
    if (!firstMatch || to.length === 0) return [];
    const everything = to.findIndex(({ conditional }) => !conditional);
    if (everything < 0)
      return [
        faultAt(
          (to.at(-1) as PlannedLink).keys,
          "without a condition, as the last queue of a route with firstMatch: other messages would be lost",
          "a condition",
        ),
      ];
    const { queue } = to[everything] as PlannedLink;
    return to
      .slice(everything + 1)
      .map(({ keys }) =>
        faultAt(
          keys,
          "in front of the queue without a condition, as the route has firstMatch",
          `it is behind ${JSON.stringify(queue)}, which takes all messages`,
        ),
      );
  });
}

const ONE_BATCH =
  "the only batch of its route: let the route end in front of it, and begin another one with this adapter";

/** A batch is settled together with its results, so nothing of the route may come behind it that gathers again. */
function oneBatchEach({ routes }: Plan): KeyedFault[] {
  return routes.flatMap(({ batches }) =>
    batches.slice(1).map(({ keys }) => faultAt(keys, ONE_BATCH, "a second batch")),
  );
}

function batchesEnd({ routes }: Plan): KeyedFault[] {
  return routes.flatMap(({ batches }) =>
    batches.flatMap(({ keys, limits }) => shapeFaults(BATCH_SHAPE, limits, keys)),
  );
}
