// The answer to page 01 of the course: an expected error keeps the state, and a fault begins anew.

import { CalleeExitedError, System } from "signalbox";
import { expect, it } from "vitest";
import { askPrices, UnknownItemError } from "../../../examples/course/01-let-it-crash.js";

it("counts on after an expected error, and starts anew after a fault", async () => {
  await using system = new System({ report: false });
  const answers = await askPrices(system, { tea: 4, whisk: Number.NaN }, ["tea", "coffee", "whisk", "tea"]);
  expect(answers).toEqual([
    { item: "tea", answer: 4, asked: 1 },
    { item: "coffee", answer: expect.any(UnknownItemError), asked: 2 },
    { item: "whisk", answer: expect.any(CalleeExitedError), asked: 0 },
    { item: "tea", answer: 4, asked: 1 },
  ]);
});
