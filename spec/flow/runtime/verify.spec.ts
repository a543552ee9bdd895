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

const after = (ms: number): Promise<string> => new Promise((go) => setTimeout(go, ms, "timer"));
const inTurn =
  (...lengths: readonly number[]): Body =>
  (flow) =>
    Promise.all(lengths.map((ms, i) => after(ms).then(() => flow.step(`branch ${i}`, () => 1)))).then(
      () => 1,
    );

/** What a run depends on besides: which of two comes first, where no journal says so. */
const RACES: readonly (readonly [string, Body])[] = [
  [
    "a timer that is slower than a step",
    async (flow) => {
      const first = await Promise.race([flow.step("first", () => "step"), after(200)]);
      return flow.step(`${first} was first`, () => 2);
    },
  ],
  [
    "a variable that a timer sets",
    async (flow) => {
      let isSet = false;
      const timer = setTimeout(() => {
        isSet = true;
      }, 10_000);
      timer.unref();
      await flow.step("first", () => 1);
      return flow.step(isSet ? "set" : "not set", () => 2);
    },
  ],
  ["the order of two timers", inTurn(5, 15)],
  ["the order of three timers", inTurn(20, 1, 10)],
];

describe("`verify` finds code that depends on", () => {
  test.each(RACES)("%s [J483]", async (_, body) => {
    for (let i = 0; i < 3; i++) expect(await outcomeOf(body)).toBe("ERR_FLOW_IN_HOSPITAL");
  });
});

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

const QUIET: readonly (readonly [string, Body])[] = [
  ["waits for timers one after the other", (flow) => after(3).then(() => flow.step("a", () => 1))],
  ["has timers of one length", inTurn(5, 5, 5)],
  ["has timers without a length", inTurn(0, 0, 0)],
  [
    "goes on by a timer that was quicker than a step: the journal has no outcome of that step",
    async (flow) => {
      const slow = flow.step("first", () => new Promise((go) => setTimeout(go, 200)).then(() => "step"));
      const first = await Promise.race([slow, after(1)]);
      return flow.step(`${first} was first`, () => 1);
    },
  ],
  [
    "clears a timer, and asks the same whether it fires",
    async (flow) => {
      const timer = setTimeout(() => undefined, 60_000);
      const one = await flow.step("a", () => 1);
      clearTimeout(timer);
      return one;
    },
  ],
  [
    "waits in a circle of timers until a step has ended",
    async (flow) => {
      let isOver = false;
      const one = flow
        .step("a", () => 1)
        .finally(() => {
          isOver = true;
        });
      while (!isOver) await after(1);
      return one;
    },
  ],
  [
    "runs steps at the same time, and others behind each",
    (flow) =>
      Promise.all(
        [1, 2, 3].map((i) => flow.step(`a${i}`, () => i).then(() => flow.step(`b${i}`, () => i))),
      ).then(() => 1),
  ],
  [
    "yields to the event loop",
    (flow) =>
      Promise.all([1, 2].map((i) => new Promise(setImmediate).then(() => flow.step(`a${i}`, () => i)))).then(
        () => 1,
      ),
  ],
];

describe("`verify` lets through code that", () => {
  test.each(QUIET)("%s [J484]", async (_, body) => {
    for (let i = 0; i < 3; i++) expect(await outcomeOf(body)).toBe(1);
  });
});

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
