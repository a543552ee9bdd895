// A program that somebody has looked at ends when it has nothing else to do, as one that nobody has looked at.

import { afterAll, beforeAll, expect, it } from "vitest";
import { Compiled } from "../support/compiled.js";

const PROGRAM = "spec/observer/programs/look.ts";
const programs = new Compiled("observer-ends");
beforeAll(() => programs.bundle("spec/observer/programs", "look"));
afterAll(programs.remove);

it.each(["no look", "history", "overview", "top", "trace", "traces", "feed"])(
  "after %s, nothing keeps the program alive [N1641]",
  async (look) => {
    expect(await programs.run(PROGRAM, [look])).toBe("nothing");
  },
);
