// docs/cluster-defects.md and the tests are held to each other: no number has two rows, and the test of each row exists.

import { describe, expect, it } from "vitest";
import { defectRows, hasTest } from "./defects.js";

const rows = defectRows("docs/cluster-defects.md");

describe("the defects that nodes must not have", () => {
  it("are listed once each", () => {
    const numbers = rows.map(({ number }) => number);
    expect(numbers).toEqual([...new Set(numbers)]);
    expect(numbers.length).toBeGreaterThan(0);
  });

  it.each(rows)("of number $number has a test in $file", (row) => {
    expect(hasTest(row)).toBe(true);
  });
});
