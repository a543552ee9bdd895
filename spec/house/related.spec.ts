// `npm run check` runs the specs that are closest to a change; see .ci/related.mjs.

import { expect, test } from "vitest";
import { related } from "../../.ci/related.mjs";

const sources = new Map([
  ["lib/index.ts", 'export { call } from "./process/calls.js"; export * from "./process/links.js";'],
  ["lib/process/calls.ts", "export const call = () => 1;"],
  ["lib/process/links.ts", "export const link = () => 1; export interface Link { n: 1 }"],
  ["lib/process/kernel.ts", 'import { link } from "./links.js"; export const kernel = link;'],
  ["spec/process/calls.spec.ts", 'import { call } from "signalbox";'],
  ["spec/process/calls-late.spec.ts", ""],
  ["spec/process/callsigns.spec.ts", ""],
  ["spec/process/kernel.spec.ts", 'import { kernel } from "../../lib/process/kernel.js";'],
  ["spec/flow/links.spec.ts", 'import { link } from "signalbox";'],
  ["spec/flow/types.spec.ts", 'import type { Link } from "signalbox";'],
  ["spec/support/kit.ts", 'import { link } from "../../lib/process/links.js"; export const kit = link;'],
  ["spec/flow/kit.spec.ts", 'import { kit } from "../support/kit.js";'],
]);

const close = (...changed: string[]): Record<string, number> => Object.fromEntries(related(sources, changed));

test("a spec that mirrors the changed file is closest, and the others of its room come after those that import it", () => {
  expect(close("lib/process/calls.ts")).toEqual({
    "spec/process/calls.spec.ts": 0,
    "spec/process/calls-late.spec.ts": 0,
    "spec/process/callsigns.spec.ts": 1.5,
    "spec/process/kernel.spec.ts": 1.5,
  });
});

test("a spec that takes one name of an entry imports the file of that name alone, and one that takes a type imports none", () => {
  const found = close("lib/process/links.ts");
  expect(found["spec/flow/links.spec.ts"]).toBe(1);
  expect(found["spec/flow/types.spec.ts"]).toBeUndefined();
  expect(found["spec/process/calls.spec.ts"]).toBe(1.5);
});

test("a spec that reaches the changed file through another one is farther, and the closest come first", () => {
  const found = close("lib/process/links.ts");
  expect(found["spec/flow/kit.spec.ts"]).toBe(2);
  expect(Object.values(found)).toEqual(Object.values(found).toSorted((a, b) => a - b));
});

test("a changed spec runs itself", () => {
  expect(close("spec/flow/kit.spec.ts")["spec/flow/kit.spec.ts"]).toBe(0);
});
