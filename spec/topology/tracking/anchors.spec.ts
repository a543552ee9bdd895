// Tuples that come from many.

import { System } from "signalbox";
import { bolt, field, spoutFrom, topology, tumbling, windowBolt } from "signalbox/topology";
import { expect, test } from "vitest";

test("a tuple may come from twenty thousand others, and all of these are done when it is", async () => {
  const most = 20_000;
  const fields = { n: field.number };
  const acked = new Set<number>();
  const numbers = spoutFrom(
    Array.from({ length: most }, (_, n) => ({ n })),
    { fields, ack: ({ n }) => acked.add(n) },
  );
  const sum = windowBolt({
    input: fields,
    streams: { sums: { sum: field.number } },
    window: tumbling({ count: most }),
    execute: ({ tuples }, { emit }) => {
      emit.sums({ sum: tuples.reduce((total, { values }) => total + values.n, 0) });
    },
  });
  const told: number[] = [];
  const tell = bolt({
    input: { sum: field.number },
    execute: ({ values }) => {
      expect(acked.size).toBe(0);
      told.push(values.sum);
    },
  });
  await using system = new System();
  const running = await system.start(
    topology("sums", { maxPending: most })
      .spout("numbers", numbers)
      .bolt("sum", sum, { from: { "numbers.items": {} } })
      .bolt("tell", tell, { from: { "sum.sums": {} } })
      .build(),
  );
  await running.finished();
  expect(told).toEqual([(most * (most - 1)) / 2]);
  expect(acked.size).toBe(most);
});
