// A task that ends while it collects tuples: those that it did not work on spend no retry, with the options of a topology
// that sets none.

import { batchBolt, grouping, topology, tumbling, windowBolt } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { N, Source, Stage } from "../support.js";

const by = ({ n }: { readonly n: number }): number => n;

describe("a tuple that a task has collected", () => {
  it.each(["window", "batch"])(
    "spends no retry when the task is killed, however often: in a %s [O56]",
    async (kind) => {
      await using stage = new Stage();
      const [source, seen] = [new Source([1, 2, 3]), [] as number[]];
      const note = (tuples: readonly { readonly values: { readonly n: number } }[]): void =>
        void seen.push(...tuples.map(({ values }) => values.n));
      const collect =
        kind === "window"
          ? windowBolt({ input: N, window: tumbling({ ms: 10, by }), execute: ({ tuples }) => note(tuples) })
          : batchBolt({ input: N, size: 4, execute: note });
      const running = await stage.start(
        topology("killed")
          .spout("source", source.spout)
          .bolt("collect", collect, { from: { "source.numbers": grouping.shuffle() } })
          .build(),
      );
      for (let kills = 0; kills < 8; kills++) {
        await stage.kill(running, "collect");
        await stage.advance(15_000);
      }
      source.put(14);
      await stage.settle();
      expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
      expect(seen.sort((a, b) => a - b)).toEqual([1, 2, 3, 14]);
      expect(source.failures).toEqual([]);
    },
  );

  it("spends none when another tuple crashes the task, which fails for good after its retries [O56]", async () => {
    await using stage = new Stage();
    const [source, seen] = [new Source(), [] as number[]];
    const windows = windowBolt({
      input: N,
      window: tumbling({ ms: 10, by }),
      execute: ({ tuples }, { process }) => {
        const numbers = tuples.map(({ values }) => values.n);
        if (numbers.includes(3)) process.exit({ type: "crash", error: new Error("three") } as never);
        seen.push(...numbers);
      },
    });
    const running = await stage.start(
      topology("poison")
        .spout("source", source.spout)
        .bolt("windows", windows, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    source.put(3, 14, 15);
    await stage.advance(120_000);
    source.put(26, 27);
    await stage.advance(120_000);
    expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
    expect(source.failures).toEqual([{ type: "failed", attempts: 4, deadLettered: false }]);
    expect(seen.sort((a, b) => a - b)).toEqual([14, 15, 26, 27]);
  });
});
