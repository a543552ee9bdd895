// docs/flow-defects.md and the tests are held to each other: every number has one row, and its test exists.

import { describe, expect, it } from "vitest";
import { defectRows, hasTest } from "./defects.js";

const rows = defectRows("docs/flow-defects.md");

/** How many defects are known. */
const DEFECTS = 41;

describe("the defects that flows must not have", () => {
  it("are all listed, each once", () => {
    const numbers = rows.map(({ number }) => number).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: DEFECTS }, (_, i) => i + 1));
  });

  it.each(rows)("of number $number has a test in $file", (row) => {
    expect(hasTest(row)).toBe(true);
  });
});
