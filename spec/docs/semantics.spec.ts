// docs/semantics.md and the tests are held to each other: each guarantee has its test, each numbered test its guarantee.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { guarantees } from "../../.ci/guaranteed.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Numbers in the names of a spec's tests: "does so [P1]". */
function numbers(source: string): string[] {
  return [
    ...source.matchAll(/\b(?:it|test)(?:\.(?:each|prop|runIf)\([^;]*?\))*\(\s*["'`][^\n]*\[([A-Z]\d+)\]/g),
  ].map(([, number]) => number as string);
}

const stated = guarantees(readFileSync(join(root, "docs/semantics.md"), "utf8"));

/** Which guarantees each exploration is about, as the page says. */
function explorations(page: string): Map<string, string[]> {
  const rows = page.matchAll(/^\| `(spec\/testing\/proofs\/[\w-]+\.spec\.ts)` \| ([^|]+) \|/gm);
  return new Map([...rows].map(([, file, list]) => [file as string, (list as string).trim().split(", ")]));
}

describe("the explorations", () => {
  const page = readFileSync(join(root, "docs/semantics.md"), "utf8");
  const files = readdirSync(join(root, "spec/testing/proofs")).filter((name) => name.endsWith(".spec.ts"));

  it.each(files)("of %s are about the guarantees that the page says", (name) => {
    const file = `spec/testing/proofs/${name}`;
    const tagged = new Set(numbers(readFileSync(join(root, file), "utf8")));
    expect(new Set(explorations(page).get(file))).toEqual(tagged);
  });
});

describe("the numbered guarantees", () => {
  it("are many, and each number is given once", () => {
    expect(stated.length).toBeGreaterThan(40);
    expect(new Set(stated.map(({ number }) => number)).size).toBe(stated.length);
  });

  it.each(stated)("$number is in the name of a test of $spec", ({ number, spec }) => {
    expect(numbers(readFileSync(join(root, spec), "utf8"))).toContain(number);
  });

  it("are all that tests claim to hold", () => {
    const claimed = readdirSync(join(root, "spec"), { recursive: true, encoding: "utf8" })
      .filter((path) => path.endsWith(".spec.ts"))
      .flatMap((path) => numbers(readFileSync(join(root, "spec", path), "utf8")));
    const known = new Set(stated.map(({ number }) => number));
    expect(claimed.filter((number) => !known.has(number))).toEqual([]);
  });
});
