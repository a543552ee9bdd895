// The rows of executions, and what a ledger knows of one queue of them.

import { System } from "signalbox";
import { memory, openStore, type Store } from "signalbox/store";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  announced,
  createExecution,
  endExecution,
  findExecution,
  setPaused,
  unannounced,
} from "../../../lib/pipeline/ledger/executions.js";
import { StoreQueue } from "../../../lib/pipeline/ledger/store-queue.js";
import { PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";

async function opened() {
  const system = new System({ report: false });
  const store: Store = await openStore(system, memory(), [PIPELINE_SCHEMA]);
  onTestFinished(async () => {
    await store.close();
    await system.stop();
  });
  const claim = await store.claim("host", { owner: "test" });
  if (claim === undefined) throw new Error("nobody else has the claim");
  const create = (id: string, sources: readonly string[] = ["file"]) =>
    createExecution(store, claim, {
      ...{ id, pipeline: "p", config: null, input: null, sources, messages: [] },
    });
  return { store, claim, create };
}

describe("the row of an execution", () => {
  it("is paused and goes on until it has ended, and ends once [Y36]", async () => {
    const { store, create } = await opened();
    const { number } = (await create("one")).row;
    expect(await setPaused(store, number, true)).toBe(true);
    expect((await findExecution(store, "one"))?.status).toBe("paused");
    expect(await setPaused(store, number, false)).toBe(true);
    expect(await endExecution(store, number, "failed", '"why"')).toBe(true);
    expect(await endExecution(store, number, "cancelled", null)).toBe(false);
    expect(await setPaused(store, number, true)).toBe(false);
    expect(await setPaused(store, 4_711, true)).toBe(false);
    expect(await findExecution(store, "one")).toMatchObject({ status: "failed", error: '"why"' });
  });

  it("is announced once its end was told, the ends of others stay [Y36]", async () => {
    const { store, claim, create } = await opened();
    const [one, two] = [(await create("one")).row.number, (await create("two", [])).row.number];
    await create("three");
    await endExecution(store, one, "cancelled", null);
    const waiting = async () => (await unannounced(store)).map(({ id }) => id).sort();
    expect(await waiting()).toEqual(["one", "two"]);
    await announced(store, claim, two);
    expect(await waiting()).toEqual(["one"]);
  });
});

describe("what a ledger stores about a queue", () => {
  it("goes back to a row that was added before the place that it has read to, also during a reading", () => {
    const queue = new StoreQueue("a", undefined);
    queue.wanted = 5;
    queue.reading = "ready";
    const rows = ["b", "d"].map((id) => ({ id, lane: 0 }));
    queue.added("c");
    expect(queue.page(rows, true, 0)).toEqual(rows);
    expect(queue.from).toBe("c");
    expect(queue.next(0)).toBe("ready");
    queue.reading = "ready";
    queue.page([{ id: "c", lane: 0 }], true, 0);
    queue.added("a");
    expect([queue.from, queue.exhausted]).toEqual(["a", false]);
  });
});
