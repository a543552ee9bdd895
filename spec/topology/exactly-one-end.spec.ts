// Whatever crashes, and whenever: every reliable tuple ends, once, acked or failed, and nothing is left under way.

import { fc, test } from "@fast-check/vitest";
import { batchBolt, bolt, DEAD_FIELDS, grouping, topology } from "signalbox/topology";
import { describe, expect } from "vitest";
import { sized } from "../support/proof.js";
import { N, Source, Stage, upTo } from "./support.js";

const COMPONENTS = ["source", "split", "slow", "store", "__acker"] as const;

type Blow =
  | {
      readonly do: "kill";
      readonly component: (typeof COMPONENTS)[number];
      readonly index: number;
      readonly soon: boolean;
    }
  | { readonly do: "system" }
  | { readonly do: "wait"; readonly ms: number }
  | { readonly do: "scale"; readonly component: "source" | "split" | "store"; readonly tasks: number };

const blow: fc.Arbitrary<Blow> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("kill" as const),
      component: fc.constantFrom(...COMPONENTS),
      index: fc.nat({ max: 3 }),
      soon: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "system" as const }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.integer({ min: 1, max: 3_000 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("scale" as const),
      component: fc.constantFrom("source" as const, "split" as const, "store" as const),
      tasks: fc.integer({ min: 1, max: 4 }),
    }),
  },
);

const LAST = 40;

/** Lets numbers through a topology that is struck, and gives how each ended. */
async function endured(blows: readonly Blow[], retries: number): Promise<Source["outcomes"]> {
  await using stage = new Stage();
  const source = new Source();
  const split = bolt({
    input: N,
    streams: { parts: N },
    execute: ({ values: { n } }, { emit }) => {
      for (const _ of upTo(n % 4)) emit.parts({ n });
    },
  });
  const slow = bolt({
    input: N,
    streams: { parts: N },
    execute: async ({ values }, { emit, random }) => {
      await Promise.resolve();
      if (random() < 0.1) throw new Error("by chance");
      emit.parts(values);
    },
  });
  const store = batchBolt({ input: N, size: 7, everyMs: 200, execute: () => undefined });
  const letters = bolt({ input: DEAD_FIELDS, execute: () => undefined });
  const running = await stage.start(
    topology("struck", {
      retries,
      retryBackoff: { minMs: 50, maxMs: 200 },
      messageTimeoutMs: 4_000,
      maxPending: 16,
      restarts: Number.POSITIVE_INFINITY,
      restartsBackoff: { minMs: 100, maxMs: 1_000 },
    })
      .spout("source", source.spout, { tasks: 2 })
      .bolt("split", split, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
      .bolt("slow", slow, { tasks: 2, executors: 1, from: { "split.parts": grouping.fields("n") } })
      .bolt("store", store, { tasks: 2, from: { "slow.parts": grouping.shuffle() } })
      .bolt("letters", letters, { from: { "source.dead": grouping.shuffle() } })
      .build(),
    { log: false },
  );
  let put = 0;
  for (const one of blows) {
    if (put < LAST) source.put(...upTo(5).map((i) => put + i));
    put = Math.min(LAST, put + 5);
    if (one.do === "wait") await stage.advance(one.ms);
    else if (one.do === "system") {
      const system = stage.system.processes().find(({ label }) => label === "system-task");
      if (system !== undefined) stage.system.exit(system as never, "kill");
    } else if (one.do === "scale") void running.scale(one.component, one.tasks).catch(() => undefined);
    else {
      const tasks = running.tasks(one.component);
      const pid = tasks[one.index % tasks.length]?.pid;
      if (!one.soon) await stage.settle();
      if (pid !== undefined) stage.system.exit(pid as never, "kill");
    }
  }
  await stage.advance(120_000);
  expect(running.phase).toBe("running");
  source.put(...upTo(LAST - put).map((i) => put + i));
  await stage.advance(120_000);
  const report = await stage.until(running.stop());
  expect(report).toEqual({ drained: true, unfinished: 0 });
  return source.outcomes;
}

describe("under any blows", () => {
  const blows = fc.array(blow, { maxLength: 25 });
  const numbers = (outcomes: Source["outcomes"]): number[] => outcomes.map(([n]) => n).sort((a, b) => a - b);

  test.prop([blows], { numRuns: sized(2, 1 / 40) })(
    "every number is acked, once, when there is no end of retries",
    async (some) => {
      const outcomes = await endured(some, Number.POSITIVE_INFINITY);
      expect(numbers(outcomes)).toEqual(upTo(LAST));
      expect(outcomes.every(([, outcome]) => outcome === "acked")).toBe(true);
    },
  );

  test.prop([blows], { numRuns: sized(2, 1 / 40) })(
    "every number ends once when there are few [O1]",
    async (some) => {
      const outcomes = await endured(some, 1);
      expect(numbers(outcomes)).toEqual(upTo(LAST));
    },
  );
});
