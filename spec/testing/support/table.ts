// The tables of planted bugs in docs/testing.md: what the page shows, and what was measured.

import { readFileSync } from "node:fs";

/** The tables of the section on planted bugs, in order, as rows of cells. */
export function shownTables(): readonly (readonly string[][])[] {
  const page = readFileSync(new URL("../../../docs/testing.md", import.meta.url), "utf8");
  const [, section = ""] = page.split(/^## Planted bugs$/m);
  const tables: string[][][] = [];
  let inside = false;
  for (const line of (section.split(/^## /m)[0] ?? "").split("\n")) {
    const row = line.startsWith("|");
    if (row && !inside) tables.push([]);
    inside = row;
    if (row) tables.at(-1)?.push(line.slice(2, -2).split(" | "));
  }
  return tables;
}

export function tableText(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Of an odd number of values. */
export function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] as number;
}
