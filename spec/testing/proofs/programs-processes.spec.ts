// Random programs about processes and what they send, see and register: a search with reduction has the same outcomes as one without.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { proving, sized } from "../../support/proof.js";
import { expectAllInstructions, expectSameOutcomes } from "./programs/compared.js";
import { EXAMPLES } from "./programs/examples.js";
import { judge } from "./programs/judge.js";
import type { Theme } from "./programs/language.js";
import { instructionTable } from "./programs/table.js";
import { THEMES } from "./programs/themes.js";

describe.each<[string, number, number, number]>([
  ["messages", 4, sized(4, 0.013, 4), 200],
  ["exits", 4, sized(4, 0.013, 4), 80],
  ["names", 4, sized(4, 0.01, 4), 60],
])("random programs about %s", (theme, least, programs, samples) => {
  it("have the same outcomes in a search with reduction as in one without [T12]", () =>
    expectSameOutcomes(theme, least, programs));
  it("perform each of their instructions, most of them often", () => expectAllInstructions(theme, samples));
});

describe("the instructions of random programs", () => {
  it("are in the table of the decision, and are many", () => {
    const page = readFileSync(
      new URL("../../../docs/decisions/0041-random-programs.md", import.meta.url),
      "utf8",
    );
    expect(page).toContain(instructionTable());
    const names = new Set(Object.values(THEMES).flatMap(({ operations }) => Object.keys(operations)));
    expect(names.size).toBeGreaterThan(80);
  });
});

/** Most schedules of a search of one of these programs. With 700, the reduced searches are still complete. */
const SCHEDULES = proving ? 4_000 : 700;

describe("a program whose outcomes once differed", () => {
  it.each(EXAMPLES)("has the same outcomes: %s", async (_title, name, program) => {
    const { reduced, missing, strange } = await judge(program, (THEMES[name] as Theme).operations, SCHEDULES);
    expect({ complete: reduced.complete, missing, strange }).toEqual({
      complete: true,
      missing: [],
      strange: [],
    });
  });
});
