// docs/semantics.md and the tests are held to each other: each guarantee has its test, each numbered test its guarantee.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Guarantee {
  readonly number: string;
  readonly file: string;
}

function guarantees(page: string): Guarantee[] {
  return [...page.matchAll(/^\| ([A-Z]\d+) \| .+ \| `(spec\/[\w/-]+\.spec\.ts)` \|$/gm)].map(
    ([, number, file]) => ({
      number: number as string,
      file: file as string,
    }),
  );
}

/** Numbers in the names of a spec's tests: "does so [P1]". */
function numbers(source: string): string[] {
  return [...source.matchAll(/^\s*(?:it|test)(?:\.each\(.*\))?\(\s*["'`].*\[([A-Z]\d+)\]/gm)].map(
    ([, number]) => number as string,
  );
}

const stated = guarantees(readFileSync(join(root, "docs/semantics.md"), "utf8"));

describe("the numbered guarantees", () => {
  it("are many, and each number is given once", () => {
    expect(stated.length).toBeGreaterThan(40);
    expect(new Set(stated.map(({ number }) => number)).size).toBe(stated.length);
  });

  it.each(stated)("$number is in the name of a test of $file", ({ number, file }) => {
    expect(numbers(readFileSync(join(root, file), "utf8"))).toContain(number);
  });

  it("are all that tests claim to hold", () => {
    const claimed = readdirSync(join(root, "spec"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".spec.ts"))
      .flatMap((path) => numbers(readFileSync(join(root, "spec", path), "utf8")));
    const known = new Set(stated.map(({ number }) => number));
    expect(claimed.filter((number) => !known.has(number))).toEqual([]);
  });
});
