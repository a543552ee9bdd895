// docs/flow-defects.md and the tests are held to each other: every number has one row, and its test exists.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs/flow-defects.md"), "utf8");

/** A row: its number, and in its last column a file, or a file with the title of a test. */
const ROW = /^\| (\d+) \| .+ \| `(spec\/[\w/-]+\.spec\.ts)`(?:: "(.+)")? \|$/gm;
const rows = [...page.matchAll(ROW)].map(([, number, file, title]) => ({
  number: Number(number),
  file: file as string,
  title,
}));

/** How many defects are known. */
const DEFECTS = 41;

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

  it.each(rows)("of number $number has a test in $file", ({ number, file, title }) => {
    const titles = titlesIn(file);
    if (title === undefined) expect(titles.filter((one) => one.startsWith(`${number}: `))).not.toEqual([]);
    else expect(titles).toContain(title);
  });
});
