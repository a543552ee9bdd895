// The routes of an execution as a graph, with what the store and a host know of each. Pure.
//
// The nodes come from the configuration that was frozen at the start, so they are there for executions of earlier versions, and where no host
// runs. The store says how many messages wait; a host that runs the execution says how fast its part of the work goes, and what stops it.

import { partsIn } from "../definition/configuration.js";
import type { ExecutionStatus } from "../ledger/tables.js";
import type { ExecutionFigures, RouteBreaker, RouteGate } from "./figures.js";

/** A source, a route with the queue that it takes from, or a queue that no route takes from. */
export interface RouteNode {
  /** Unique in the graph. */
  readonly name: string;
  readonly kind: "source" | "route" | "sink";
  /** The queue that a route takes from, or that a sink is. */
  readonly queue?: string;
  /** Messages in that queue that may be tried now, those in work included. */
  readonly ready: number;
  /** Messages in it that wait for their next attempt. */
  readonly delayed: number;
  /** Its dead letters. */
  readonly dead: number;
  /** Messages that the route has settled here since its host took the execution up. Absent: no host says so. */
  readonly done?: number;
  /** Messages that it has given up here since then. */
  readonly failed?: number;
  /** Messages and batches in work here. */
  readonly inWork: number;
  /** Most workers at this time; where no host runs the execution, as its configuration says. */
  readonly limit?: number;
  /** Messages a second that leave it here. Absent: no host says so, or this is the first look for ten seconds. */
  readonly perS?: number;
  /** The median and the 99th percentile of the time in adapters of the last 512 attempts that succeeded since the first look. */
  readonly p50Ms?: number;
  readonly p99Ms?: number;
  /** What stands before its workers on this host. Empty: no host says so. */
  readonly gates: readonly RouteGate[];
  /** The circuit breakers of its adapters on this host. */
  readonly breakers: readonly RouteBreaker[];
  /** Whether a source may give more. */
  readonly isOpen?: boolean;
}

/** Where messages go. */
export interface RouteEdge {
  /** The names of nodes. */
  readonly from: string;
  readonly to: string;
  readonly queue: string;
  /** Messages a second here. Absent: not measured. */
  readonly perS?: number;
  /** How many messages went this way, over all hosts. Absent: only sources are counted. */
  readonly total?: number;
}

/** The routes of an execution, with what is known of each. */
export interface RouteGraph {
  /** The id of the execution. */
  readonly id: string;
  readonly pipeline: string;
  readonly status: ExecutionStatus;
  /** When this was read, in milliseconds since 1970. */
  readonly at: number;
  /** A host that was asked runs the execution: rates, gates and breakers are those of this host. */
  readonly isLive: boolean;
  /** `ready`, `delayed` and `dead` are not counted further: so many of a queue may be more. */
  readonly atMost: number;
  readonly nodes: readonly RouteNode[];
  readonly edges: readonly RouteEdge[];
}

/** How many messages a queue has. */
export interface QueueNumbers {
  readonly queue: string;
  readonly ready: number;
  readonly delayed: number;
  readonly dead: number;
}

/** What a graph is made of. */
export interface RouteGraphParts extends Pick<RouteGraph, "id" | "pipeline" | "status" | "at" | "atMost"> {
  readonly configuration: unknown;
  readonly queues: readonly QueueNumbers[];
  readonly sources: readonly { readonly name: string; readonly given: number; readonly open: boolean }[];
  readonly figures: ExecutionFigures | undefined;
}

const NOTHING = { ready: 0, delayed: 0, dead: 0 };
const IDLE = { inWork: 0, gates: [], breakers: [] };

export function routeGraph(parts: RouteGraphParts): RouteGraph {
  const { id, pipeline, status, at, atMost, configuration, figures } = parts;
  const { routes, sources } = partsIn(configuration);
  const numbers = new Map(parts.queues.map(({ queue, ...rest }) => [queue, rest]));
  const stored = new Map(parts.sources.map((one) => [one.name, one]));
  const rates = new Map(figures?.sources.map(({ name, perS }) => [name, perS]));
  const here = new Map(figures?.routes.map((one) => [one.name, one]));
  const names = new Names();
  const takers = new Map(routes.map(({ name, from }) => [from, names.of("route", name)]));
  const edges: RouteEdge[] = [];
  // Queues that are named as a goal, or hold messages that no route takes.
  const open = new Set<string>();
  const goalOf = (queue: string): string => {
    const taker = takers.get(queue);
    if (taker !== undefined) return taker;
    open.add(queue);
    return names.of("sink", queue);
  };
  const sourceNodes = sources.map(({ name, to }): RouteNode => {
    const own = names.of("source", name);
    const found = stored.get(name);
    const perS = rates.get(name);
    const total = found === undefined ? {} : { total: found.given };
    edges.push({ from: own, to: goalOf(to), queue: to, ...total, ...(perS !== undefined && { perS }) });
    return {
      ...{ name: own, kind: "source", ...NOTHING, ...IDLE },
      ...(found !== undefined && { done: found.given, isOpen: found.open }),
      ...(perS !== undefined && { perS }),
    };
  });
  const routeNodes = routes.map(({ name, from, to, concurrency }): RouteNode => {
    const own = names.of("route", name);
    const live = here.get(name);
    for (const queue of to) {
      const perS = live?.rates.perS === undefined ? undefined : (live.rates.to.get(queue) ?? 0);
      edges.push({ from: own, to: goalOf(queue), queue, ...(perS !== undefined && { perS }) });
    }
    const node: RouteNode = {
      name: own,
      kind: "route",
      queue: from,
      ...NOTHING,
      ...numbers.get(from),
      ...IDLE,
    };
    if (live === undefined) return { ...node, ...(concurrency !== undefined && { limit: concurrency }) };
    const { inWork, limit, gates, breakers, rates: of } = live;
    const { done, failed, perS, p50Ms, p99Ms } = of;
    return {
      ...{ ...node, done, failed, inWork, limit, gates, breakers },
      ...(perS !== undefined && { perS }),
      ...(p50Ms !== undefined && { p50Ms }),
      ...(p99Ms !== undefined && { p99Ms }),
    };
  });
  for (const [queue, { ready, delayed, dead }] of numbers)
    if (!takers.has(queue) && ready + delayed + dead > 0) open.add(queue);
  const sinks = [...open].sort().map(
    (queue): RouteNode => ({
      ...{ name: names.of("sink", queue), kind: "sink", queue },
      ...{ ...NOTHING, ...numbers.get(queue), ...IDLE },
    }),
  );
  const nodes = [...sourceNodes, ...routeNodes, ...sinks];
  return { id, pipeline, status, at, isLive: figures !== undefined, atMost, nodes, edges };
}

/** Names of nodes. A source, a route and a queue may have the same name: the later ones say what they are. */
class Names {
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();

  of(kind: RouteNode["kind"], name: string): string {
    const known = this.#names.get(`${kind} ${name}`);
    if (known !== undefined) return known;
    // No name has a blank, so this one is free.
    const made = this.#taken.has(name) ? `${name} (${kind === "sink" ? "queue" : kind})` : name;
    this.#names.set(`${kind} ${name}`, made);
    this.#taken.add(made);
    return made;
  }
}
