// Pictures of graphs: the layout depends on the shape alone, and a figure that changes moves nothing.

import { test as check, fc } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { GRAPH_LIMITS, pathOf, place, shapeKey } from "../../../lib/observer/client/model/layout.js";

test("the layout of a graph is a function of its shape [N1588]", () => {
  const nodes = ["a", "b", "c"].map((id) => ({ id, width: 90, height: 40 }));
  const edges = [{ id: "ab", from: "a", to: "b", width: 40, height: 12 }];
  const shape = { nodes, edges, direction: "right" as const };
  const again = structuredClone(shape);
  expect(shapeKey(again)).toBe(shapeKey(shape));
  expect(place(again)).toEqual(place(shape));
  expect(shapeKey({ ...shape, edges: [] })).not.toBe(shapeKey(shape));
});

const shapes = fc
  .record({
    size: fc.integer({ min: 1, max: 12 }),
    edges: fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 20 }),
  })
  .map(({ size, edges }) => ({
    direction: "right" as const,
    nodes: Array.from({ length: size }, (_, i) => ({ id: `n${i}`, width: 100, height: 40 })),
    edges: edges.map(([from, to], i) => ({
      id: `e${i}`,
      from: `n${from}`,
      to: `n${to}`,
      width: 40,
      height: 12,
    })),
  }));

check.prop([shapes])("no two nodes overlap, and all is inside the picture [N1588]", (shape) => {
  const placed = place(shape);
  if (placed === undefined) throw new Error("it is small enough to be drawn");
  for (const [i, a] of placed.nodes.entries()) {
    expect(a.x >= 0 && a.y >= 0 && a.x + a.width <= placed.width && a.y + a.height <= placed.height).toBe(
      true,
    );
    for (const b of placed.nodes.slice(i + 1)) {
      const apart =
        a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
      expect(apart).toBe(true);
    }
  }
  for (const { path, from, to } of placed.edges) {
    expect(path).toMatch(/^M[-\d. ]+(?:[QL][-\d. ]+)+$/);
    expect(shape.nodes.some(({ id }) => id === from) && shape.nodes.some(({ id }) => id === to)).toBe(true);
  }
});

test("a graph that is too large is not drawn, and nothing is", () => {
  const nodes = Array.from({ length: GRAPH_LIMITS.nodes + 1 }, (_, i) => ({
    id: `${i}`,
    width: 9,
    height: 9,
  }));
  expect(place({ nodes, edges: [], direction: "down" })).toBeUndefined();
  expect(place({ nodes: [], edges: [], direction: "down" })).toEqual({
    width: 0,
    height: 0,
    nodes: [],
    edges: [],
  });
  expect(pathOf([])).toBe("");
});
