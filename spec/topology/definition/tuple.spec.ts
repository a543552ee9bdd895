// A tuple, as a program sees it that prints it.

import { inspect } from "node:util";
import { expect, test } from "vitest";
import { ForeignChannel, Tuple } from "../../../lib/topology/definition/tuple.js";

test("console.log of a tuple shows its values, where it comes from, and whether it is tracked", () => {
  const tuple = new Tuple({ word: "box" }, new ForeignChannel("split", "words", 3));
  expect(inspect(tuple, { breakLength: Number.POSITIVE_INFINITY })).toBe(
    "Tuple { component: 'split', stream: 'words', task: 3, values: { word: 'box' }, anchored: false }",
  );
  expect(inspect([[{ tuple }]], { depth: 2, breakLength: Number.POSITIVE_INFINITY })).toContain("Tuple");
});
