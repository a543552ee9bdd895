// docs/flow-defects.md and the tests are held to each other: every number has one row, and its test exists.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs/flow-defects.md"), "utf8");

/** A row: its number, and in its last column a file, a file with the title of a test, or the word that there is none. */
const ROW = /^\| (\d+) \| .+ \| (?:`(spec\/[\w/-]+\.spec\.ts)`(?:: "(.+)")?|(not shown.*)) \|$/gm;
const rows = [...page.matchAll(ROW)].map(([, number, file, title, missing]) => ({
  number: Number(number),
  file,
  title,
  missing,
}));
const shown = rows.filter((row): row is typeof row & { file: string } => row.file !== undefined);

/** How many defects are known. */
const DEFECTS = 41;
/** The ones that no test shows: fewer are welcome, others are not. */
const NOT_SHOWN = [15, 21, 22];

/** The titles of tests, without the numbers of the guarantees at their ends. */
function titlesIn(file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  return [...source.matchAll(/\b(?:it|test)(?:\.\w+\([^;]*?\))?\(\s*(["'`])(.+?)\1,/g)].map(([, , title]) =>
    (title as string).replace(/(?: \(bug \d+\)| \(\d+\))?(?: \[[A-Z]\d+\])?$/, ""),
  );
}

describe("the defects that flows must not have", () => {
  it("are all listed, each once", () => {
    const numbers = rows.map(({ number }) => number).sort((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: DEFECTS }, (_, i) => i + 1));
  });

  it("are shown by tests, except for those that are named here", () => {
    const missing = rows.filter((row) => row.missing !== undefined).map(({ number }) => number);
    expect(missing.sort((a, b) => a - b)).toEqual(NOT_SHOWN);
  });

  it.each(shown)("of number $number has a test in $file", ({ number, file, title }) => {
    const titles = titlesIn(file);
    if (title === undefined) expect(titles.filter((one) => one.startsWith(`${number}: `))).not.toEqual([]);
    else expect(titles).toContain(title);
  });
});
