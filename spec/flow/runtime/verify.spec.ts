// What the read-back of `verify: true` finds: code that looks at the clock, at random numbers or at variables, on its first run.

import { System } from "signalbox";
import { defineFlow, type FlowContext, flowHost } from "signalbox/flow";
import { memory } from "signalbox/store";
import { describe, expect, test } from "vitest";

type Body = (flow: FlowContext) => Promise<unknown>;

/** How a flow ends on a host that verifies, or the code of the error for which it is kept. */
async function outcomeOf(body: Body): Promise<unknown> {
  await using system = new System({ report: false });
  const flow = defineFlow("looks", (given, _: undefined) => body(given));
  const flows = await system.start(flowHost({ store: memory(), flows: [flow], verify: true }));
  const run = await flows.start(flow, undefined, { id: "f" });
  return await run.result().catch((error: { code?: string }) => error.code);
}

/** Two steps, of which the second is one of two. */
const branch =
  (isHigh: () => boolean): Body =>
  async (flow) => {
    await flow.step("first", () => 1);
    return flow.step(isHigh() ? "high" : "low", () => 2);
  };
/** The same, where what is looked at is looked at before and after a step. */
const later =
  (isHigh: (before: number, after: number) => boolean): Body =>
  async (flow) => {
    const before = Date.now();
    await flow.step("first", () => 1);
    return flow.step(isHigh(before, Date.now()) ? "high" : "low", () => 2);
  };

const HOUR_MS = 3_600_000;
const start = Date.now();
const FOUND: readonly (readonly [string, Body])[] = [
  ["odd milliseconds", branch(() => Date.now() % 2 === 1)],
  ["a moment that is to come", branch(() => Date.now() > start + HOUR_MS)],
  ["a moment that has passed", branch(() => Date.now() > start - HOUR_MS)],
  ["the hour of the day", branch(() => new Date().getHours() < 12)],
  ["the year", branch(() => new Date().getFullYear() > new Date(start).getFullYear())],
  ["the time between two steps", later((before, after) => after - before > HOUR_MS)],
  ["a random number that is mostly low", branch(() => Math.random() < 0.9)],
  ["a random number that is mostly high", branch(() => Math.random() > 0.9)],
  ["a coin", branch(() => Math.random() < 0.5)],
];

describe("`verify` finds code that branches on", () => {
  test.each(FOUND)("%s [J301]", async (_, body) => {
    // Whichever way the first run took.
    for (let i = 0; i < 5; i++) expect(await outcomeOf(body)).toBe("ERR_FLOW_IN_HOSPITAL");
  });
});

const FINE: readonly (readonly [string, Body])[] = [
  ["the flow's own clock", async (flow) => flow.step(flow.now() % 2 === 1 ? "odd" : "even", () => 1)],
  ["the flow's own random numbers", async (flow) => flow.step(flow.random() < 0.5 ? "low" : "high", () => 1)],
  ["the clock in a step", async (flow) => ((await flow.step("now", () => Date.now())) > 0 ? 1 : 0)],
  [
    "the clock for a log alone",
    async (flow) => flow.step("one", () => 1).then((one) => (Date.now() > 0 ? one : one)),
  ],
];

describe("`verify` lets through code that looks at", () => {
  test.each(FINE)("%s [J301]", async (_, body) => {
    expect(await outcomeOf(body)).toBeOneOf([1, 2]);
  });
});

test("clocks and random numbers outside of the replay are those of the host, also while it runs [J301]", async () => {
  const read: number[] = [];
  const before = Date.now();
  const outcome = await outcomeOf(async (flow) => {
    for (let i = 0; i < 20; i++)
      await flow.step("read", () => {
        read.push(Date.now());
        return 1;
      });
    return 1;
  });
  expect(outcome).toBe(1);
  expect(Math.min(...read)).toBeGreaterThanOrEqual(before);
  expect(Math.max(...read)).toBeLessThanOrEqual(Date.now());
});
