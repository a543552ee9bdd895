// Tables: their order, their text, and which rows are in the document.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  formatSort,
  nextSort,
  parseSort,
  rowsText,
  sortRows,
  stepRow,
  type TextColumn,
} from "../../../lib/observer/client/model/table.js";
import { scrollTo, WHOLE_ROWS, windowOf } from "../../../lib/observer/client/model/window.js";

interface Row {
  readonly name: string | undefined;
  readonly depth: number | undefined;
}
const COLUMNS: readonly TextColumn<Row>[] = [
  { title: "Name", value: ({ name }) => name },
  { title: "Depth", value: ({ depth }) => depth },
];
const row = (name?: string, depth?: number): Row => ({ name, depth });

describe("the text of a table", () => {
  test.prop([
    fc.array(
      fc.record({
        name: fc.option(fc.string({ unit: "binary" }), { nil: undefined }),
        depth: fc.option(fc.integer(), { nil: undefined }),
      }),
    ),
  ])("has each row in a line and each cell in its column, and no cell is a formula [N1583]", (rows) => {
    const lines = rowsText(COLUMNS, rows).split("\n");
    expect(lines).toHaveLength(rows.length + 2);
    expect(lines[0]).toBe("Name\tDepth");
    for (const [n, { depth }] of rows.entries()) {
      const cells = (lines[n + 1] as string).split("\t");
      expect(cells).toHaveLength(2);
      expect(cells[0]).not.toMatch(/^[=+\-@]|[\r\n]/);
      expect(cells[1]).toBe(depth === undefined ? "" : String(depth));
    }
  });

  it("keeps what a label says", () => {
    expect(rowsText(COLUMNS, [row("a\tb\n<img onerror=1>", 3), row("=1+1", -1)])).toBe(
      "Name\tDepth\na b <img onerror=1>\t3\n'=1+1\t-1\n",
    );
  });
});

describe("the order of a table", () => {
  const rows = [row("b10", 2), row("b9"), row(undefined, 7), row("a", 2)];

  it("compares numbers as numbers, also in texts, and has empty cells last", () => {
    const names = (by: string, isDescending: boolean): unknown[] =>
      sortRows(rows, COLUMNS, { by, isDescending }).map(({ name }) => name);
    expect(names("Name", false)).toEqual(["a", "b9", "b10", undefined]);
    expect(names("Name", true)).toEqual(["b10", "b9", "a", undefined]);
    expect(names("Depth", true)).toEqual([undefined, "b10", "a", "b9"]);
    expect(names("Nothing", true)).toEqual(rows.map(({ name }) => name));
  });

  it("goes from largest to smallest, back, and away", () => {
    const first = nextSort(undefined, "Depth", true);
    expect(first).toEqual({ by: "Depth", isDescending: true });
    const second = nextSort(first, "Depth", true);
    expect(second).toEqual({ by: "Depth", isDescending: false });
    expect(nextSort(second, "Depth", true)).toBeUndefined();
    expect(nextSort(second, "Name", false)).toEqual({ by: "Name", isDescending: false });
  });

  test.each(["Depth", "-Depth"])("%s is an address", (text) => {
    const sort = parseSort(text);
    expect(sort === undefined ? "" : formatSort(sort)).toBe(text);
  });
});

describe("the rows in the document", () => {
  test.prop([
    fc.nat(100_000),
    fc.double({ min: 0, max: 5e6, noNaN: true }),
    fc.integer({ min: 0, max: 3_000 }),
  ])(
    "are those that are seen, and few beside them; their room is that of all",
    (count, scrollTop, height) => {
      const { first, end, above, below } = windowOf(count, { scrollTop, height, rowHeight: 36 });
      expect(above + (end - first) * 36 + below).toBe(count * 36);
      if (count <= WHOLE_ROWS) {
        expect(end - first).toBe(count);
        return;
      }
      expect(end - first).toBeLessThanOrEqual(Math.ceil(height / 36) + 21);
      const largest = Math.max(0, count * 36 - height);
      const top = Math.min(scrollTop, largest);
      expect(first * 36).toBeLessThanOrEqual(top);
      expect(end * 36).toBeGreaterThanOrEqual(Math.min(top + height, count * 36));
    },
  );

  it("are scrolled to", () => {
    const seen = { scrollTop: 360, height: 360, rowHeight: 36 };
    expect(scrollTo(9, seen)).toBe(324);
    expect(scrollTo(10, seen)).toBeUndefined();
    expect(scrollTo(19, seen)).toBeUndefined();
    expect(scrollTo(20, seen)).toBe(396);
    expect(scrollTo(19, seen, 36)).toBe(396);
  });
});

test("keys step through the rows and stay in them", () => {
  expect([
    stepRow(undefined, 1, 3),
    stepRow(undefined, -1, 3),
    stepRow(2, 1, 3),
    stepRow(0, -1, 3),
    stepRow(1, 1, 3),
  ]).toEqual([0, 2, 2, 0, 2]);
  expect(stepRow(undefined, 1, 0)).toBeUndefined();
});
