// The chapter about Storm lists every kind of finding, and no other.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The codes in the first cells of the rows of tables. */
function codesIn(text: string): string[] {
  const cells = [...text.matchAll(/^\| (`[^|]*) \|/gm)].map(([, cell]) => cell as string);
  return cells.flatMap((cell) => [...cell.matchAll(/`([\w-]+)`/g)].map(([, code]) => code as string)).sort();
}

/** The codes in the table of the library. */
function codesOf(effect: "blocks" | "differs"): string[] {
  const rows = read("lib/topology/storm/finding.ts").matchAll(/^ \* \| `([\w-]+)` \| (\w+) \|/gm);
  return [...rows].flatMap(([, code, its]) => (its === effect ? [code as string] : [])).sort();
}

it("the chapter about Storm has the code of each finding once, those that block first", () => {
  const [, section = ""] = /^## What differs,[^\n]*\n([\s\S]*?)^## /m.exec(read("docs/guide/storm.md")) ?? [];
  const [blocks = "", differs = ""] = section.split("Others differ.");
  expect(codesOf("blocks")).toContain("custom-grouping");
  expect(codesIn(blocks)).toEqual(codesOf("blocks"));
  expect(codesIn(differs)).toEqual(codesOf("differs"));
});
