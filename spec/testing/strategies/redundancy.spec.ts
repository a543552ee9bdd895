// How many schedules a search with reduction runs, in programs of which the number of classes is known.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import {
  account,
  fileSystem,
  indexer,
  lastZero,
  readers,
  runThreads,
  type Thread,
} from "../support/threads.js";

interface Row {
  readonly name: string;
  readonly sizes: readonly number[];
  readonly make: (n: number) => Thread[];
  /** Classes of schedules, by the theory. */
  readonly classes: (n: number) => number;
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1);
}

const ROWS: readonly Row[] = [
  { name: "readers", sizes: [2, 6, 10], make: readers, classes: (n) => 2 ** n },
  // By the published counts of 64, 3,328 and 147,456 classes for 5, 10 and 15.
  {
    name: "last zero",
    sizes: [2, 5, 8, 10],
    make: lastZero,
    classes: (n) => (n + 3) * 2 ** (n - 2),
  },
  { name: "indexer", sizes: [11, 12, 13, 14], make: indexer, classes: (n) => 8 ** (n - 11) },
  { name: "file system", sizes: [14, 16, 18], make: fileSystem, classes: (n) => 2 ** (n - 13) },
  { name: "account", sizes: [2, 4, 6], make: account, classes: factorial },
];

function search(threads: readonly Thread[]): { complete: number; redundant: number } {
  const strategy = exhaustive();
  let complete = 0;
  let redundant = 0;
  for (let index = 0; ; index++) {
    const chooser = strategy.begin(index, new Random(index), { longest: 0, actors: 0 });
    if (chooser === undefined) return { complete, redundant };
    runThreads(threads, chooser);
    if (chooser.redundant === true) redundant++;
    else complete++;
  }
}

const found = ROWS.flatMap(({ name, sizes, make, classes }) =>
  sizes.map((n) => ({ name, n, classes: classes(n), ...search(make(n)) })),
);

describe("a search with reduction", () => {
  it.each(found)("runs $classes schedules of $name($n) to their end, and abandons at most a tenth", (row) => {
    expect(row.complete).toBe(row.classes);
    expect(row.redundant).toBeLessThanOrEqual(row.complete / 10);
  });
});

describe("docs/testing.md", () => {
  it("shows how many those are", () => {
    const page = readFileSync(new URL("../../../docs/testing.md", import.meta.url), "utf8");
    const [, section = ""] = page.split(/^## Redundant schedules$/m);
    const shown = (section.split(/^##? /m)[0] ?? "").split("\n").filter((line) => line.startsWith("|"));
    const titles = ["program", "classes", "schedules", "redundant"];
    const rows = found.map(({ name, n, classes, complete, redundant }) => [
      `${name} (${n})`,
      ...[classes, complete, redundant].map(String),
    ]);
    const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
    const right = [titles, ["---", "--:", "--:", "--:"], ...rows].map(line);
    expect(shown, `the table in docs/testing.md has to be:\n\n${right.join("\n")}\n`).toEqual(right);
  });
});
