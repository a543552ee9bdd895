// Which file of lib holds a guarantee, and what `npm run guarantees` says when its test does not execute it; see .ci/guaranteed.mjs.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Guarantee, guarantees, holderOf, unheld } from "../../.ci/guaranteed.mjs";
import { lib } from "./modules.js";

const files = new Set(["lib/index.ts", "lib/flow/calls.ts", "lib/flow/jobs/runner.ts"]);
const row = (spec: string, file?: string): Guarantee => ({ number: "X1", spec, file });

describe("the file that holds a guarantee", () => {
  test.each([
    ["spec/flow/calls.spec.ts", undefined, "lib/flow/calls.ts"],
    ["spec/flow/calls-that-end.spec.ts", undefined, "lib/flow/calls.ts"],
    ["spec/flow/others.spec.ts", undefined, "lib/flow/"],
    ["spec/flow/hostile/flows.spec.ts", undefined, "lib/flow/"],
    ["spec/otp/otp.spec.ts", undefined, "lib/"],
    ["spec/flow/calls.spec.ts", "lib/flow/jobs/runner.ts", "lib/flow/jobs/runner.ts"],
  ])("of %s, with %s in its row, is %s", (spec, file, holder) => {
    expect(holderOf(row(spec, file), files)).toBe(holder);
  });

  test("is in lib, for every row that names one", () => {
    const page = readFileSync(new URL("../../docs/semantics.md", import.meta.url), "utf8");
    const named = guarantees(page).flatMap(({ file }) => (file === undefined ? [] : [file]));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((file) => !lib.some(({ path }) => path === file))).toEqual([]);
  });
});

describe("a guarantee is not held", () => {
  const wrong = (executed: readonly string[] | undefined, ...rows: readonly Guarantee[]): string[] =>
    unheld(rows, files, () => executed);

  test("when its test executes other files alone", () => {
    const others = ["lib/index.ts", "lib/flow/jobs/runner.ts"];
    expect(wrong(others, row("spec/flow/calls.spec.ts"))).toEqual([
      "X1: spec/flow/calls.spec.ts executes nothing of lib/flow/calls.ts",
    ]);
    expect(wrong(["lib/index.ts"], row("spec/flow/others.spec.ts"))).toHaveLength(1);
  });

  test("when its test did not run, or its file is not there", () => {
    expect(wrong(undefined, row("spec/flow/calls.spec.ts"))).toEqual([
      "X1: spec/flow/calls.spec.ts did not run",
    ]);
    expect(wrong([], row("spec/flow/calls.spec.ts", "lib/flow/gone.ts"))).toEqual([
      "X1: there is no lib/flow/gone.ts",
    ]);
  });

  test("unless its test executes the file, or any file of the room, or runs the library apart", () => {
    const executed = ["lib/flow/calls.ts"];
    const rows = [
      row("spec/flow/calls.spec.ts"),
      row("spec/flow/others.spec.ts"),
      row("spec/chaos/flows/kills.spec.ts"),
    ];
    expect(wrong(executed, ...rows)).toEqual([]);
  });
});
