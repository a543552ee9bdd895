// The routes of a pipeline as a graph of cards: rates, depth and latency, and what stops them. Pure.

import type { RouteGraph, RouteNode } from "../../../pipeline/operations/route-graph.js";
import { type Card, type CardGraph, cardLine, graphOf, rate } from "./card-graph.js";
import { countText, numberText, plural } from "./format.js";

export function cardsOfRoutes({ nodes, edges }: RouteGraph): CardGraph {
  const drawn = edges.map((edge) => ({
    ...edge,
    title: `${edge.from} to ${edge.to}, queue ${edge.queue}`,
    id: `${edge.from}|${edge.queue}|${edge.to}`,
  }));
  return graphOf(nodes.map(routeCard), drawn);
}

function routeCard(node: RouteNode): Card {
  const { name, kind, ready, delayed, done, inWork, limit, perS, p50Ms, p99Ms } = node;
  const isRoute = kind === "route";
  const depth = countText(ready + delayed);
  return {
    id: name,
    title: name,
    kind,
    lines: [
      cardLine(
        rate(perS),
        kind === "source" ? (done === undefined ? undefined : `${countText(done)} given`) : `${depth} deep`,
      ),
      cardLine(
        isRoute
          ? `${countText(inWork)}${limit === undefined ? "" : `/${countText(limit)}`} in work`
          : undefined,
        p99Ms === undefined ? undefined : `p99 ${numberText(p99Ms, "ms")}`,
        p50Ms === undefined || p99Ms !== undefined ? undefined : `p50 ${numberText(p50Ms, "ms")}`,
      ),
    ],
    ...routeLook(node),
  };
}

function routeLook({ kind, ready, gates, breakers, dead }: RouteNode): Pick<Card, "tone" | "why"> {
  const open = breakers
    .filter(({ state }) => state !== "closed")
    .map(({ name, state }) => `breaker ${name} is ${state}`);
  const held = gates
    .filter(({ waiting }) => waiting > 0)
    .map(({ name, waiting }) => `${countText(waiting)} wait at gate ${name}`);
  const why = [...open, ...(dead > 0 ? [plural(dead, "dead letter")] : []), ...held];
  const isLost = kind === "sink" && ready > 0;
  if (isLost) why.unshift("no route takes these messages");
  if (why.length === 0) return { tone: "calm", why: undefined };
  return { tone: isLost || open.length > 0 || dead > 0 ? "bad" : "warn", why: why.join("; ") };
}
