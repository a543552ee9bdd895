// The durable till of the course has each charge once: after a restart, when callers meet, and when the power fails at any step.

import { System } from "signalbox";
import { memory } from "signalbox/store";
import { explore } from "signalbox/testing";
import { expect, it } from "vitest";
import { KeyReusedError } from "../../../examples/course/09-at-least-once.js";
import { type DurableTill, openTill } from "../../../examples/course/10-exactly-once.js";

async function life<T>(
  source: ReturnType<typeof memory>,
  body: (till: DurableTill) => Promise<T>,
): Promise<T> {
  await using system = new System({ report: false });
  const till = await openTill(system, source);
  const result = await body(till);
  await till.close();
  return result;
}

it("gives a charge its first receipt after a restart", async () => {
  const source = memory();
  expect(await life(source, (till) => till.charge("o-1", 450))).toBe("receipt 1: 450");
  await life(source, async (till) => {
    expect(await till.charge("o-1", 450)).toBe("receipt 1: 450");
    await expect(till.charge("o-1", 1)).rejects.toThrow(KeyReusedError);
    expect(await till.total()).toBe(450);
  });
});

it("charges once when two callers come at the same time", () =>
  life(memory(), async (till) => {
    const charges = ["o-1", "o-1", "o-2"].map((key) => till.charge(key, 100));
    expect(new Set(await Promise.all(charges)).size).toBe(2);
    expect(await till.total()).toBe(200);
  }));

it("charges once, whenever the power fails", async () => {
  await explore(
    async (sim) => {
      const node = sim.node("shop", (machine) => openTill(machine.system(), machine.store));
      // The customer asks until there is an answer. A machine without power gives none.
      for (let answer: string | undefined; answer === undefined; ) {
        const asked = (await node.ready()).charge("o-1", 450).catch(() => undefined);
        answer = await Promise.race([asked, sim.sleep(1_000).then(() => undefined)]);
      }
      sim.calm();
      expect(await (await node.ready()).total()).toBe(450);
    },
    { faults: { nodeCrash: { of: "shop", downMs: [10], atMost: 2 } }, schedules: 60, seed: 1 },
  );
});
