// An error code names one class: `code = "ERR_…"` stands in one place of lib.

import { Visitor } from "oxc-parser";
import { expect, test } from "vitest";
import { example, lib, parse, type Source } from "./modules.js";

function codesOf(source: Source): string[] {
  const codes: string[] = [];
  // To walk through all of lib takes seconds.
  if (!source.text.includes("ERR_")) return codes;
  new Visitor({
    PropertyDefinition({ key, value }) {
      const literal = value?.type === "TSAsExpression" ? value.expression : value;
      if (key.type !== "Identifier" || key.name !== "code" || literal?.type !== "Literal") return;
      if (typeof literal.value === "string" && literal.value.startsWith("ERR_")) codes.push(literal.value);
    },
  }).visit(parse(source).program);
  return codes;
}

function sharedCodes(sources: readonly Source[]): string[] {
  const owners = new Map<string, string[]>();
  for (const source of sources) {
    for (const code of codesOf(source)) owners.set(code, [...(owners.get(code) ?? []), source.path]);
  }
  return [...owners]
    .filter(([, paths]) => paths.length > 1)
    .map(([code, paths]) => `${code}: ${paths.join(", ")}`);
}

test("no two classes of lib share an error code", () => {
  expect(lib.flatMap(codesOf)).toContain("ERR_OPTION");
  expect(sharedCodes(lib)).toEqual([]);
});

test("the rule rejects a code that stands twice", () => {
  const one = example('class A { readonly code = "ERR_A" as const; }', "lib/process/a.ts");
  const two = example(
    'class B { readonly code: string = "ERR_A"; readonly other = "ERR_B"; }',
    "lib/dispatch/b.ts",
  );
  expect(sharedCodes([one, two])).toEqual(["ERR_A: lib/process/a.ts, lib/dispatch/b.ts"]);
  expect(sharedCodes([one])).toEqual([]);
});
