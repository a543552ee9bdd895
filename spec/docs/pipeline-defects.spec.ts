// docs/pipeline-defects.md and the tests are held to each other: every number has one row, and its file has a test that names it.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs/pipeline-defects.md"), "utf8");
const [defects, weaknesses] = page.split("## Three weaknesses") as [string, string];

interface Row {
  readonly number: number;
  readonly file: string;
}

const rowsOf = (part: string): Row[] =>
  [...part.matchAll(/^\| (\d+) \| .+ \| `(spec\/[\w/-]+\.spec\.ts)` \|$/gm)].map(([, number, file]) => ({
    number: Number(number),
    file: file as string,
  }));

/** How many defects and weaknesses are known. */
const DEFECTS = 42;
const WEAKNESSES = 3;

/** The numbers that titles of tests name: `(bug 7)`, `(bugs 1, 3)`. */
function named(file: string, what: "bugs?" | "weakness"): number[] {
  const source = readFileSync(join(root, file), "utf8");
  const titles = [...source.matchAll(/^\s*(?:(?:it|test)\b.*?\(\s*)?(["'`])(.+?)\1,/gm)].map(
    ([, , title]) => title,
  );
  return titles.flatMap((title) =>
    [...(title as string).matchAll(new RegExp(`\\(${what} ([\\d, ]+)\\)`, "g"))].flatMap(([, list]) =>
      (list as string).split(",").map(Number),
    ),
  );
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1);
const numbersOf = (rows: readonly Row[]): number[] => rows.map(({ number }) => number).sort((a, b) => a - b);

describe("the defects that pipelines must not have", () => {
  it("are all listed, each once", () => {
    expect(numbersOf(rowsOf(defects))).toEqual(upTo(DEFECTS));
    expect(numbersOf(rowsOf(weaknesses))).toEqual(upTo(WEAKNESSES));
  });

  it.each(rowsOf(defects))("of number $number has a test in $file", ({ number, file }) => {
    expect(named(file, "bugs?")).toContain(number);
  });

  it.each(rowsOf(weaknesses))("weakness $number has a test in $file", ({ number, file }) => {
    expect(named(file, "weakness")).toContain(number);
  });
});
