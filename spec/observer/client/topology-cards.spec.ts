// A topology as cards: figures that change move nothing, and the bottleneck is named.

import { expect, test } from "vitest";
import type { TopologyGraph } from "../../../lib/admin/system/graph-operations.js";
import { place, shapeKey } from "../../../lib/observer/client/model/layout.js";
import { cardsOfTopology } from "../../../lib/observer/client/model/topology-cards.js";

const topology = (capacity: number, perS: number): TopologyGraph => {
  const counts = {
    tasks: 2,
    executors: 2,
    executed: 9,
    emitted: 9,
    acked: 9,
    failed: 0,
    errors: 0,
    restarts: 0,
  };
  return {
    ...{ pid: "shop.7", name: "words", phase: "running", at: 0, uptimeMs: 1, restarts: 0 },
    components: [
      { ...counts, name: "lines", kind: "spout", pending: 12, waiting: 0, emittedPerS: perS, completeMs: 3 },
      {
        ...counts,
        name: "split",
        kind: "bolt",
        pending: 0,
        waiting: 4,
        executedPerS: perS,
        capacity,
        executeMs: 0.4,
      },
    ],
    edges: [{ from: "lines", stream: "default", to: "split", grouping: "shuffle", perS }],
    bottleneck: { component: "split", why: "it is busy all the time" },
  };
};

test("figures that change keep the layout [N1588]", () => {
  const before = cardsOfTopology(topology(0.2, 5));
  const after = cardsOfTopology(topology(1.4, 1_250_000));
  expect(shapeKey(after.shape)).toBe(shapeKey(before.shape));
  expect(place(after.shape)).toEqual(place(before.shape));
  expect(after.edges.get("lines|default|split|shuffle")?.label).toBe("1.25 M/s");
});

test("the bottleneck is named with its reason", () => {
  const card = cardsOfTopology(topology(0.2, 5)).cards.get("split");
  expect(card).toMatchObject({ tone: "bad", why: "bottleneck: it is busy all the time" });
});
