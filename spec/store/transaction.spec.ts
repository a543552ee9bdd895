// Optimistic transactions over tables.

import { System } from "signalbox";
import {
  ConflictError,
  defineTable,
  FencedError,
  memory,
  openStore,
  type Store,
  StoreClosedError,
  type StoreTransaction,
  transact,
} from "signalbox/store";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { storeContext } from "../support/store-context.js";

const accounts = defineTable("accounts", {
  columns: { id: "text", cents: "integer", branch: "text?" },
  key: ["id"],
  indexes: { branch: ["branch"] },
});
const entries = defineTable("entries", {
  columns: { no: "integer", text: "text" },
  key: ["no"],
  counted: "no",
});
const SCHEMA = { name: "bank", version: 1, tables: [accounts, entries] };

let store: Store;
beforeEach(async () => {
  store = await memory().open([SCHEMA], {
    ...storeContext(),
    after(_, fn) {
      const waits = setImmediate(fn);
      return () => clearImmediate(waits);
    },
  });
  await store.commit({
    writes: ["anna", "bert", "carl"].map((id) => ({
      type: "put",
      table: accounts,
      row: { id, cents: 100, branch: "x" },
    })),
  });
});
afterEach(() => store.close());

const cents = async (): Promise<number[]> => (await store.scan(accounts, {})).map((row) => row.cents);

/** A writer who is faster, each time that a transaction is about to commit. */
async function overtake(tx: StoreTransaction): Promise<void> {
  await tx.get(accounts, ["anna"]);
  await store.commit({ writes: [{ type: "update", table: accounts, key: ["anna"], add: { cents: 1 } }] });
}

describe("a transaction", () => {
  it("commits what its function wrote, and returns what it returned", async () => {
    const left = await transact(store, async (tx) => {
      const anna = await tx.get(accounts, ["anna"]);
      tx.update(accounts, ["anna"], { cents: (anna?.cents ?? 0) - 30 });
      tx.update(accounts, ["bert"], {}, { cents: 30 });
      tx.insert(entries, { text: "30 from anna to bert" });
      return (anna?.cents ?? 0) - 30;
    });
    expect(left).toBe(70);
    expect(await cents()).toEqual([70, 130, 100]);
    expect(await store.scan(entries, {})).toEqual([{ no: 1, text: "30 from anna to bert" }]);
  });

  it("runs again when another writer changed what it read [K10]", async () => {
    let runs = 0;
    await transact(store, async (tx) => {
      runs++;
      const anna = await tx.get(accounts, ["anna"]);
      if (runs < 3) await overtake(tx);
      tx.update(accounts, ["anna"], { cents: (anna?.cents ?? 0) * 2 });
    });
    expect(runs).toBe(3);
    expect((await cents())[0]).toBe(204);
  });

  it("loses no update of many at once", async () => {
    const add = (): Promise<void> =>
      transact(
        store,
        async (tx) => {
          const row = await tx.get(accounts, ["carl"]);
          tx.put(accounts, { ...row, id: "carl", cents: (row?.cents ?? 0) + 1 });
        },
        { attempts: 100 },
      );
    await Promise.all(Array.from({ length: 25 }, add));
    expect((await cents())[2]).toBe(125);
  });

  it("gives up after its attempts, with the conflict of the last one", async () => {
    let runs = 0;
    const failed = transact(
      store,
      async (tx) => {
        runs++;
        await overtake(tx);
        tx.delete(accounts, ["bert"]);
      },
      { attempts: 4 },
    );
    await expect(failed).rejects.toThrow(ConflictError);
    expect(runs).toBe(4);
    expect(await cents()).toEqual([104, 100, 100]);
  });

  it("expects that a key without a row has none, and a scanned row is as it was", async () => {
    const tries: string[] = [];
    await transact(store, async (tx) => {
      const dora = await tx.get(accounts, ["dora"]);
      tries.push(dora === undefined ? "no dora" : "dora");
      if (tries.length === 1)
        await store.commit({ writes: [{ type: "put", table: accounts, row: { id: "dora", cents: 1 } }] });
      tx.insert(entries, { text: "looked" });
    });
    expect(tries).toEqual(["no dora", "dora"]);
    const sums: number[] = [];
    await transact(store, async (tx) => {
      const rows = await tx.scan(accounts, { index: "branch", prefix: ["x"] });
      sums.push(rows.reduce((sum, row) => sum + row.cents, 0));
      if (sums.length === 1) await overtake(tx);
      tx.insert(entries, { text: "summed" });
    });
    expect(sums).toEqual([300, 301]);
  });

  it("runs again when a row was added to a range that it has scanned [K46]", async () => {
    const counts: number[] = [];
    const add = (id: string): Promise<unknown> =>
      store.commit({ writes: [{ type: "put", table: accounts, row: { id, cents: 1, branch: "z" } }] });
    await transact(store, async (tx) => {
      counts.push((await tx.scan(accounts, { index: "branch", prefix: ["z"] })).length);
      if (counts.length === 1) await add("zoe");
      if (counts.length === 2)
        await store.commit({ writes: [{ type: "delete", table: accounts, key: ["zoe"] }] });
      tx.insert(entries, { text: "counted" });
    });
    expect(counts).toEqual([0, 1, 0]);
  });

  it("reads what it has written itself", async () => {
    const seen = await transact(store, async (tx) => {
      tx.update(accounts, ["anna"], { branch: "y" }, { cents: 5 });
      tx.put(accounts, { id: "aaron", cents: 1, branch: "y" });
      tx.delete(accounts, ["bert"]);
      tx.update(accounts, ["nobody"], { cents: 1 });
      return {
        anna: await tx.get(accounts, ["anna"]),
        bert: await tx.get(accounts, ["bert"]),
        y: (await tx.scan(accounts, { index: "branch", prefix: ["y"] })).map(({ id, cents: c }) => [id, c]),
        all: (await tx.scan(accounts, { reverse: true })).map(({ id }) => id),
      };
    });
    expect(seen).toEqual({
      anna: { id: "anna", cents: 105, branch: "y" },
      bert: undefined,
      y: [
        ["aaron", 1],
        ["anna", 105],
      ],
      all: ["carl", "anna", "aaron"],
    });
    expect((await store.scan(accounts, {})).map(({ id }) => id)).toEqual(["aaron", "anna", "carl"]);
  });

  it("reads all of its rows as of one moment, if it only reads", async () => {
    let runs = 0;
    const sum = await transact(store, async (tx) => {
      runs++;
      const anna = await tx.get(accounts, ["anna"]);
      if (runs === 1)
        await store.commit({
          writes: [
            { type: "update", table: accounts, key: ["anna"], add: { cents: -50 } },
            { type: "update", table: accounts, key: ["bert"], add: { cents: 50 } },
          ],
        });
      return (anna?.cents ?? 0) + ((await tx.get(accounts, ["bert"]))?.cents ?? 0);
    });
    expect([runs, sum]).toEqual([2, 200]);
  });

  it("writes nothing when its function throws, and does not run again", async () => {
    let runs = 0;
    const failed = transact(store, (tx) => {
      runs++;
      tx.delete(accounts, ["anna"]);
      throw new Error("no");
    });
    await expect(failed).rejects.toThrow("no");
    expect(runs).toBe(1);
    expect(await cents()).toEqual([100, 100, 100]);
  });

  it("is of no use when it has ended", async () => {
    let kept: StoreTransaction | undefined;
    await transact(store, (tx) => {
      kept = tx;
    });
    expect(() => kept?.delete(accounts, ["anna"])).toThrow(StoreClosedError);
    await expect(kept?.get(accounts, ["anna"])).rejects.toThrow(StoreClosedError);
    await expect(kept?.scan(accounts, { prefix: [] })).rejects.toThrow(StoreClosedError);
  });

  it("writes under a claim, and is refused when the claim is lost", async () => {
    const claim = await store.claim("bank", { owner: "test" });
    const write = (tx: StoreTransaction): void => tx.update(accounts, ["anna"], {}, { cents: 1 });
    await transact(store, write, { ...(claim && { claim }) });
    await claim?.release();
    await expect(transact(store, write, { ...(claim && { claim }) })).rejects.toThrow(FencedError);
    expect((await cents())[0]).toBe(101);
  });

  it("ends its attempts and its wait with a signal", async () => {
    const already = AbortSignal.abort(new Error("too late"));
    await expect(transact(store, () => 1, { signal: already })).rejects.toThrow("too late");
    const system = new System({ environment: testClock().environment, report: false });
    const bank = await openStore(system, memory(), [SCHEMA]);
    await bank.commit({ writes: [{ type: "put", table: accounts, row: { id: "anna", cents: 0 } }] });
    const end = new AbortController();
    const waits = transact(
      bank,
      async (tx) => {
        await tx.get(accounts, ["anna"]);
        await bank.commit({
          writes: [{ type: "update", table: accounts, key: ["anna"], add: { cents: 1 } }],
        });
        setImmediate(() => end.abort(new Error("enough")));
      },
      { signal: end.signal },
    );
    await expect(waits).rejects.toThrow("enough");
    await bank.close();
    await system.stop();
  });

  it("refuses options that it does not know", async () => {
    await expect(transact(store, () => 1, { attempt: 3 } as never)).rejects.toMatchObject({
      path: "attempt",
    });
    await expect(transact(store, () => 1, { attempts: 0 })).rejects.toMatchObject({ path: "attempts" });
    await expect(transact(store, undefined as never)).rejects.toMatchObject({ path: "body" });
  });
});
