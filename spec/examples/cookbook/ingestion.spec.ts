// Ingestion: counts stay exact on a machine that loses power, a database that is down costs no record, and dead letters can be mended.

import { System } from "signalbox";
import { fromValues, type PipelineHost, pipelineHost, type SqlTarget } from "signalbox/pipeline";
import { memory } from "signalbox/store";
import { type Simulation, testClock } from "signalbox/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { ingestion, records, type Sale, saleSchema } from "../../../examples/cookbook/ingestion/ingestion.js";
import { explored } from "../../support/proof.js";

const VALID = Array.from({ length: 8 }, (_, n): Sale => ({ id: `sale-${n}`, shop: "north", cents: n }));
const AS_TEXT = { id: "text", shop: "south", cents: "250" };
const NO_SHOP = { id: "none", cents: 1 };
const GIVEN: readonly unknown[] = [...VALID.slice(0, 5), AS_TEXT, NO_SHOP, ...VALID.slice(5)];

/** A table of sales: one statement at a time, as `sqlUpsert` writes it. */
function table(rows: Map<unknown, Sale>, before = async (): Promise<void> => undefined): SqlTarget {
  return {
    placeholder: () => "?",
    async run(_sql, values) {
      await before();
      for (let i = 0; i < values.length; i += 3) {
        const [id, shop, cents] = values.slice(i, i + 3);
        rows.set(id, { id: String(id), shop: String(shop), cents: Number(cents) });
      }
    },
  };
}

/** The second version of the schema. */
const better = z.preprocess(
  (record) => ({ ...(record as object), cents: Number((record as Sale).cents) }),
  saleSchema,
);

async function opened(system: System, database: SqlTarget, store = memory(), schema = saleSchema) {
  const pipeline = ingestion({ source: fromValues("sales", GIVEN), database, schema });
  return { pipeline, host: await system.start(pipelineHost({ store, pipelines: [pipeline] })) };
}

/** Asks again while the machine has no power. */
async function insisted<T>(sim: Simulation, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch {
      await sim.sleep(50);
    }
  }
}

it("writes each valid record once and sets each other one aside once, whenever the machine loses power", async () => {
  await explored(
    async (sim) => {
      const rows = new Map<unknown, Sale>();
      let writes = 0;
      const write = sim.io("write", async () => void ++writes, { failures: [new Error("no answer")] });
      const source = fromValues("sales", GIVEN);
      const pipeline = ingestion({ source, database: table(rows, write) });
      const machine = sim.node(
        "machine",
        (node): Promise<PipelineHost> =>
          node.system().start(pipelineHost({ store: node.store, pipelines: [pipeline] })),
      );
      const ended = await insisted(sim, async () => {
        const run = await (await machine.ready()).start(pipeline, { id: "monday" });
        return run.completed();
      });
      expect(ended).toMatchObject({ inputs: GIVEN.length, dead: 2, pending: 0 });
      expect([...rows.values()].sort((a, b) => a.cents - b.cents)).toEqual(VALID);
      sim.sometimes("the machine lost power", machine.boots > 1);
      sim.sometimes("rows were written again", writes > 1);
    },
    {
      quick: 60,
      least: 60,
      share: 0.02,
      seed: 1,
      faults: { nodeCrash: { of: "machine", downMs: [0, 100], atMost: 2 } },
    },
  );
});

it("lets records wait while the database is down for ten minutes", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  const rows = new Map<unknown, Sale>();
  let calls = 0;
  const backMs = 600_000;
  const database = table(rows, async () => {
    calls++;
    if (clock.now < backMs) throw new Error("the database is down");
  });
  const { pipeline, host } = await clock.until(opened(system, database));
  const run = await clock.until(host.start(pipeline));
  const { dead } = await clock.until(run.completed());
  expect([dead, rows.size]).toEqual([2, VALID.length]);
  expect(calls).toBeLessThan(40);
  await clock.until(system.stop());
});

it("keeps a dead letter as it came, with its error, and does it again with a better schema", async () => {
  await using system = new System({ report: false });
  const rows = new Map<unknown, Sale>();
  const store = memory();
  const first = await opened(system, table(rows), store);
  await (await first.host.start(first.pipeline, { id: "monday" })).completed();
  await first.host.stop();

  const { host, pipeline } = await opened(system, table(rows), store, better);
  const letters = [];
  for await (const { value, errors } of host.get("monday").deadLetters()) letters.push({ value, errors });
  expect(letters).toEqual([
    { value: AS_TEXT, errors: [expect.stringContaining("cents: ")] },
    { value: NO_SHOP, errors: [expect.stringContaining("shop: ")] },
  ]);

  const replays = [1, 2].map(() => host.get("monday").replay({ dead: true, id: "mended" }));
  const ends = await Promise.all(replays.map(async (replay) => (await replay).completed()));
  expect(ends.map(({ inputs, dead }) => [inputs, dead])).toEqual(ends.map(() => [2, 1]));
  expect(rows.get("text")).toEqual({ ...AS_TEXT, cents: 250 });

  // What no schema can mend, a person corrects.
  const corrected = { to: records, values: [{ ...NO_SHOP, shop: "west" }] };
  await (await host.start(pipeline, { id: "by hand", messages: corrected })).completed();
  expect(rows.get("none")).toEqual({ ...NO_SHOP, shop: "west" });
});
