// Windows under any schedule: whatever crashes when, each tuple is in its window once, and none is late.

import type { FaultOptions, Simulation } from "signalbox/testing";
import { bolt, field, grouping, spoutFrom, topology, tumbling, windowBolt } from "signalbox/topology";
import { expect, it } from "vitest";
import { explored } from "../../support/proof.js";

const N = { n: field.number };
const NUMBERS = [1, 4, 6, 9];

const CRASHES: FaultOptions = {
  crash: [
    { of: "**/windows-*", atMost: 3 },
    { of: "**/others-*", atMost: 2 },
    { of: "**/items-*", reason: "kill" },
    { of: "**/__acker-*", reason: "kill" },
    { of: "**/system-task", reason: "kill" },
  ],
};

/** A window that is open until the end, in two bolts side by side, behind one whose first try of a tuple fails. */
async function scenario(sim: Simulation): Promise<void> {
  sim.calm();
  const seen = { windows: [] as number[][], others: [] as number[][] };
  const collect = (into: number[][]) =>
    windowBolt({
      input: N,
      window: tumbling({ ms: 10, by: ({ n }: { n: number }) => n }),
      execute: ({ tuples }) => void into.push(tuples.map(({ values: { n } }) => n)),
    });
  const failed = new Set<number>();
  const relay = bolt({
    input: N,
    streams: { numbers: N },
    execute: ({ values }, { emit }) => {
      if (values.n > 5 && !failed.has(values.n)) {
        failed.add(values.n);
        throw new Error("not now");
      }
      emit.numbers(values);
    },
  });
  const running = await sim.system({ name: "s" }).start(
    topology("windowed", {
      ...{ ackers: 1, ackerExecutors: 1, intensity: 100, sampleRate: 0, messageTimeoutMs: 1e8, retries: 100 },
      drainMs: 1e9,
    })
      .spout(
        "items",
        spoutFrom(
          NUMBERS.map((n) => ({ n })),
          { fields: N },
        ),
      )
      .bolt("relay", relay, { from: { "items.items": {} } })
      .bolt("windows", collect(seen.windows), { from: { "relay.numbers": grouping.fields("n") } })
      .bolt("others", collect(seen.others), { from: { "items.items": grouping.fields("n") } })
      .build(),
    { log: false },
  );
  sim.storm();
  await running.finished();
  sim.calm();
  expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
  for (const all of [seen.windows, seen.others]) expect(all.flat().sort((a, b) => a - b)).toEqual(NUMBERS);
}

it("a window has each of its tuples once, under any schedule, whatever crashes [O24]", async () => {
  await explored(scenario, { quick: 25, share: 1 / 4, name: "windows", faults: CRASHES });
});

/** Windows that end on the way, in two tasks of which any may get a tuple, beside a bolt whose first tries fail. */
async function shuffled(sim: Simulation): Promise<void> {
  sim.calm();
  const seen: number[] = [];
  const late: number[] = [];
  const windows = windowBolt({
    input: N,
    window: tumbling({ ms: 10, by: ({ n }: { n: number }) => n }),
    late: ({ values: { n } }) => void late.push(n),
    execute: ({ tuples }) => void seen.push(...tuples.map(({ values: { n } }) => n)),
  });
  const failed = new Set<number>();
  const beside = bolt({
    input: N,
    execute: ({ values: { n } }) => {
      if (n % 10 > 4 || failed.has(n)) return;
      failed.add(n);
      throw new Error("not now");
    },
  });
  const numbers = [1, 4, 8, 12, 15, 19, 23];
  const running = await sim.system({ name: "s" }).start(
    topology("shuffled", {
      ...{ ackers: 1, ackerExecutors: 1, intensity: 100, sampleRate: 0, messageTimeoutMs: 1e8, retries: 100 },
      drainMs: 1e9,
    })
      .spout(
        "items",
        spoutFrom(
          numbers.map((n) => ({ n })),
          { fields: N },
        ),
      )
      .bolt("windows", windows, { tasks: 2, from: { "items.items": grouping.shuffle() } })
      .bolt("others", beside, { from: { "items.items": grouping.shuffle() } })
      .build(),
    { log: false },
  );
  sim.storm();
  await running.finished();
  sim.calm();
  expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
  expect(late).toEqual([]);
  expect(seen.sort((a, b) => a - b)).toEqual(numbers);
}

it("windows of several tasks have each tuple once, under any schedule, whatever crashes [O54]", async () => {
  await explored(shuffled, { quick: 25, share: 1 / 4, name: "shuffled windows", faults: CRASHES });
});
