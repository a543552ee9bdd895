// The diagram of the course, as a function: its answers for the shop's work, and its shape for all other work.

import * as fc from "fast-check";
import { expect, it } from "vitest";
import { choose, type Tool, WORKS, type Work } from "../../../examples/course/12-choose.js";

it("chooses for the five pieces of work", () => {
  const chosen = Object.fromEntries(Object.entries(WORKS).map(([name, work]) => [name, choose(work)]));
  expect(chosen).toEqual({
    resizePhoto: "pool",
    subscription: "flow",
    import: "pipeline",
    chat: "dispatch",
    carrier: "queue",
  });
  expect([choose({}), choose({ endless: true })]).toEqual(["task", "topology"]);
});

it("chooses a tool that survives a restart whenever the work must", () => {
  const durable: readonly Tool[] = ["flow", "pipeline", "queue"];
  const answers: Record<keyof Work, fc.Arbitrary<boolean>> = {
    blocksThread: fc.constant(false),
    outlivesRestart: fc.boolean(),
    endless: fc.boolean(),
    anotherMayDoIt: fc.boolean(),
    severalSteps: fc.boolean(),
    commonEnd: fc.boolean(),
  };
  fc.assert(
    fc.property(fc.record(answers), (work) => durable.includes(choose(work)) === work.outlivesRestart),
  );
});
