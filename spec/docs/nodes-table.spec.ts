// The table "What happens when" of docs/guide/nodes.md and its tests are held to each other: each cell is the title of a test in the
// row of that name.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const GUIDE = new URL("../../docs/guide/nodes.md", import.meta.url);
const TESTS = new URL("../chaos/nodes/table/table.spec.ts", import.meta.url);

/** The cells of the guide, as `row > column: text`. Marks of code within a cell do not count. */
function cellsOfGuide(): string[] {
  const section = readFileSync(GUIDE, "utf8").split("\n## What happens when\n")[1]?.split("\n## ")[0] ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("|"));
  const [head = [], , ...body] = rows.map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
  return body.flatMap(([row, ...cells]) =>
    cells.map((cell, i) => `${row} > ${head[i + 1]}: ${cell.replaceAll("`", "")}`),
  );
}

/** The tests, as `row > title`. */
function cellsOfTests(): string[] {
  const found = readFileSync(TESTS, "utf8").matchAll(/\brow\(\s*"([^"]+)",|^ +"([^"]+)": /gm);
  let row = "";
  const cells: string[] = [];
  for (const [, name, title] of found)
    if (name !== undefined) row = name;
    else cells.push(`${row} > ${title}`);
  return cells;
}

describe("the table of what happens when, in the guide of nodes", () => {
  it("says what its tests show, cell by cell", () => {
    const cells = cellsOfGuide();
    expect(cells.length).toBeGreaterThanOrEqual(8 * 7);
    expect(cells).toEqual(cellsOfTests());
  });
});
