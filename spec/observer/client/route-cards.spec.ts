// The routes of a pipeline as cards: what stops them is named.

import { expect, test } from "vitest";
import { cardsOfRoutes } from "../../../lib/observer/client/model/route-cards.js";

test("a route with dead letters or an open breaker is marked, and a queue that no route takes from", () => {
  const node = { kind: "route", ready: 1, delayed: 0, inWork: 1, limit: 4, gates: [], breakers: [] } as const;
  const { cards } = cardsOfRoutes({
    ...{ id: "o-1", pipeline: "orders", status: "running", at: 0, isLive: true, atMost: 1_000 },
    edges: [{ from: "a", to: "b", queue: "b", total: 3 }],
    nodes: [
      { ...node, name: "a", dead: 0, breakers: [{ name: "bank", state: "open" }] },
      { ...node, name: "b", dead: 2, breakers: [{ name: "bank", state: "closed" }] },
      { ...node, name: "c", dead: 0, gates: [{ name: "high water", state: "closed", waiting: 3 }] },
      { ...node, name: "old", kind: "sink", dead: 0 },
    ],
  });
  expect([...cards.values()].map(({ tone, why }) => [tone, why])).toEqual([
    ["bad", "breaker bank is open"],
    ["bad", "2 dead letters"],
    ["warn", "3 wait at gate high water"],
    ["bad", "no route takes these messages"],
  ]);
});
