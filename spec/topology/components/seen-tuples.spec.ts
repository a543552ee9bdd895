// What a task knows of the tuples that came lately: a tuple is new only if none can have been forgotten.

import { expect, test } from "vitest";
import { SeenTuples } from "../../../lib/topology/components/seen-tuples.js";

const KEEP_MS = 100;
const seen = (max: number): SeenTuples => new SeenTuples({ keepMs: KEEP_MS, max, now: 0 });

test("no tuple is known to be new before the memory reaches back far enough [N1492]", () => {
  const tuples = seen(10);
  expect([tuples.note(1, 0), tuples.note(2, 99), tuples.note(3, 100)]).toEqual([true, true, false]);
});

test("a tuple is remembered for the whole time, and forgotten after twice that [N1491]", () => {
  const tuples = seen(10);
  for (const hash of [1, 2]) tuples.note(hash, 150);
  expect([tuples.note(1, 249), tuples.note(2, 250)]).toEqual([true, true]);
  expect(tuples.note(3, 260)).toBe(false);
  expect(tuples.note(1, 500)).toBe(false);
});

test("when more come than are remembered, no tuple is known to be new until all are again [N1492]", () => {
  const tuples = seen(4);
  for (const [hash, now] of [
    [1, 100],
    [2, 110],
    [3, 120],
    [4, 130],
    [5, 140],
  ] as const)
    expect(tuples.note(hash, now)).toBe(hash > 2);
  // The first two are forgotten, and nothing tells that 1 is one of them.
  expect(tuples.note(1, 141)).toBe(true);
  expect(tuples.note(9, 300)).toBe(false);
});
