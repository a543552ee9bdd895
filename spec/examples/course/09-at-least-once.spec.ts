// The till of the course charges each key once, also when the clerk who charges crashes at any step.

import { ConsumerGroup, consumer, System, supervisor } from "signalbox";
import { explore } from "signalbox/testing";
import { expect, it } from "vitest";
import { KEPT_KEYS, KeyReusedError, Till } from "../../../examples/course/09-at-least-once.js";

it("gives a repeated charge its first receipt, and refuses another amount", async () => {
  await using system = new System({ report: false });
  const till = await system.start(Till);
  expect(await till.call.charge("o-1", 450)).toBe("receipt 1: 450");
  expect(await till.call.charge("o-2", 100)).toBe("receipt 2: 100");
  expect(await till.call.charge("o-1", 450)).toBe("receipt 1: 450");
  await expect(till.call.charge("o-1", 1)).rejects.toThrow(KeyReusedError);
  expect(await till.call.total()).toBe(550);
});

it("remembers so many keys and no more", async () => {
  await using system = new System({ report: false });
  const till = await system.start(Till);
  for (let i = 0; i <= KEPT_KEYS; i++) await till.call.charge(`o-${i}`, 1);
  expect(await till.call.charge("o-1", 1)).toBe("receipt 2: 1");
  expect(await till.call.charge("o-0", 1)).toBe(`receipt ${KEPT_KEYS + 2}: 1`);
});

it("charges once, whenever the clerk crashes", async () => {
  await explore(
    async (sim) => {
      sim.calm();
      const system = sim.system({ name: "shop" });
      const clerks = new ConsumerGroup<number>({ name: "clerks", patienceMs: 1_000 });
      const clerk = consumer(
        (cents: number, { envelope }) => Till.at(system, "till").call.charge(envelope.id, cents),
        { group: clerks },
      );
      await system.start(
        supervisor({
          children: [
            { id: "till", name: "till", start: Till },
            { id: "clerk-1", start: clerk },
            { id: "clerk-2", start: clerk },
          ],
        }),
      );
      sim.storm();
      await system.dispatch(clerks, 450);
      sim.calm();
      expect(await Till.at(system, "till").call.total()).toBe(450);
    },
    { faults: { crash: { of: "**/clerk-*" } }, schedules: 100, seed: 1 },
  );
});
