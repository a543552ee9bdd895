// Under the simulator: what a store holds after a power loss at any step, and who may write while two hosts take a claim from each
// other.

import type { System } from "signalbox";
import {
  type Claim,
  defineTable,
  FencedError,
  memory,
  openStore,
  type Schema,
  type Store,
  transact,
} from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../../support/proof.js";
import { storeContext } from "../../support/store-context.js";

const log = defineTable("log", { columns: { no: "integer", n: "integer" }, key: ["no"], counted: "no" });
const mirror = defineTable("mirror", { columns: { n: "integer", text: "text" }, key: ["n"] });
const lead = defineTable("lead", {
  columns: { no: "integer", token: "integer", by: "text" },
  key: ["no"],
  counted: "no",
});
const counter = defineTable("counter", { columns: { id: "text", n: "integer" }, key: ["id"] });
const SCHEMA: Schema = { name: "proof", version: 1, tables: [log, mirror, lead, counter] };

/** Each set has a row in two tables, and expects the row of the set before. */
function submit(store: Store, n: number, settled: (error: Error | undefined) => void): void {
  store.submit(
    {
      ...(n > 1 && { expect: [{ table: mirror, key: [n - 1], is: "present" as const }] }),
      writes: [
        { type: "insert", table: log, row: { n } },
        { type: "insert", table: mirror, row: { n, text: `set ${n}` } },
      ],
    },
    settled,
  );
}

const SETS = 5;

/** A machine that writes sets in their order, and goes on after each boot where its store says that it was. */
function writer(sim: Simulation, failures: { readonly write?: boolean }) {
  const acknowledged: number[] = [];
  const seen: number[][] = [];
  const boot = async (node: { system(): System; store: ReturnType<typeof memory> }): Promise<void> => {
    const store = await openStore(node.system(), node.store, [SCHEMA]);
    const there = (await store.scan(log, {})).map((row) => row.n);
    const mirrored = (await store.scan(mirror, {})).map((row) => row.n);
    seen.push(there);
    if (there.join() !== mirrored.join()) throw new Error(`half a set: ${there} but ${mirrored}`);
    if (there.some((n, i) => n !== i + 1)) throw new Error(`out of order: ${there}`);
    sim.sometimes(
      "a set survived that was not acknowledged",
      there.some((n) => !acknowledged.includes(n)),
    );
    const lost = acknowledged.filter((n) => !there.includes(n));
    if (lost.length > 0) throw new Error(`acknowledged and lost: ${lost}`);
    // Two sets at once, and then the next two: groups have one set or two.
    const write = (from: number): void => {
      for (const n of [from, from + 1]) {
        if (n > SETS) return;
        submit(store, n, (error) => {
          if (error === undefined) acknowledged.push(n);
          if (error === undefined && n === from + 1) write(n + 1);
        });
      }
    };
    write(there.length + 1);
  };
  const node = sim.node("shop", boot, { store: { failures: { ...failures, atMost: 2 } } });
  const isDone = (): boolean => acknowledged.includes(SETS) || seen.at(-1)?.length === SETS;
  return { node, acknowledged, seen, isDone };
}

describe("a store that loses power", () => {
  it("has every set that was acknowledged, no half set, and all in their order [K11]", async () => {
    await explored(
      async (sim) => {
        const { node, seen, isDone } = writer(sim, {});
        await sim.until("all is written", isDone);
        sim.calm();
        // An answer may have died with the machine: what is on the disk counts, not what was acknowledged.
        node.crash();
        node.restart();
        await sim.until("it has booted", () => node.up);
        const last = seen.at(-1) ?? [];
        sim.sometimes(
          "the power failed in mid-work",
          seen.some((list) => list.length > 0 && list.length < SETS),
        );
        expect(last).toEqual([1, 2, 3, 4, 5]);
      },
      {
        quick: 60,
        seed: 1,
        faults: { nodeCrash: { of: "shop", downMs: [10], atMost: 2 } },
        sometimes: ["a set survived that was not acknowledged", "the power failed in mid-work"],
      },
    );
  });

  it("acknowledges nothing that a full or failing disk did not take", async () => {
    await explored(
      async (sim) => {
        const { node, acknowledged, isDone } = writer(sim, { write: true });
        await sim.quiet();
        sim.sometimes("a commit failed", acknowledged.length < SETS);
        for (let i = 0; i < 4 && !isDone(); i++) {
          node.crash();
          node.restart();
          await sim.until("it has booted", () => node.up);
          await sim.quiet();
        }
        expect(isDone()).toBe(true);
      },
      {
        quick: 40,
        seed: 2,
        faults: { nodeCrash: { of: "shop", downMs: [10], atMost: 1 } },
        sometimes: ["a commit failed"],
      },
    );
  });

  it("lets those outside of the machine close, whatever was on its way when the power failed", async () => {
    await explored(
      async (sim) => {
        const node = sim.node("shop", async (one) => {
          const store = await openStore(one.system(), one.store, [SCHEMA]);
          for (let n = 0; n < 5; n++)
            await store.commit({ writes: [{ type: "insert", table: log, row: { n } }] });
          await store.close();
        });
        const system = sim.system({ name: "reader" });
        for (let i = 0; i < 3; i++) {
          const store = await openStore(system, node.store, [SCHEMA]);
          const set = { writes: [{ type: "insert", table: log, row: { n: 9 } }] } as const;
          const written = store.commit(set).then(
            () => true,
            (error: unknown) => {
              expect(error).toMatchObject({ code: "ERR_STORE_CLOSED" });
              return false;
            },
          );
          if (sim.choose(2, "waits") === 1) await sim.sleep(0);
          const { boots } = node;
          await store.close();
          sim.sometimes("the power failed while it closed", node.boots > boots || !node.powered);
          sim.sometimes("a commit of its own was lost", !(await written));
        }
      },
      {
        quick: 40,
        seed: 6,
        faults: { nodeCrash: { of: "shop", downMs: [0, 10], atMost: 2 } },
        sometimes: ["the power failed while it closed", "a commit of its own was lost"],
      },
    );
  });

  it("closes the handles of a store that one process has, and releases its claims", async () => {
    const source = memory();
    const before = await source.open([SCHEMA], storeContext());
    await before.commit({ writes: [{ type: "insert", table: log, row: { n: 1 } }] });
    const claim = (await before.claim("a", { owner: "before" })) as Claim;
    expect(source.lose()).toBe(0);
    await expect(before.scan(log, {})).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
    await expect(before.commit({ writes: [] })).resolves.toEqual({ results: [] });
    await expect(before.commit({ claim, writes: [] })).rejects.toMatchObject({ code: "ERR_STORE_CLOSED" });
    const after = await source.open([SCHEMA], storeContext());
    expect(await after.scan(log, {})).toEqual([{ no: 1, n: 1 }]);
    expect((await after.claim("a", { owner: "after" }))?.token).toBeGreaterThan(claim.token);
    await before.close();
    await after.close();
  });
});

const TTL = 90;

/** A host that claims the lead, writes while it has it, and declares a leader dead that it takes for dead. */
async function host(sim: Simulation, system: System, store: Store, by: string): Promise<void> {
  for (let round = 0; round < 3; round++) {
    let claim = await store.claim("lead", { owner: by, ttlMs: TTL });
    if (claim === undefined) {
      const [held] = await store.claims("lead");
      if (held !== undefined && sim.choose(3, "declares the leader dead") > 0)
        await store.revoke(held.name, held.token);
      claim = await store.claim("lead", { owner: by, ttlMs: TTL });
    }
    if (claim === undefined) {
      await sim.sleep(TTL / 2);
      continue;
    }
    const { token } = claim;
    for (let i = 0; i < 2; i++) {
      try {
        await store.commit({ claim, writes: [{ type: "insert", table: lead, row: { token, by } }] });
      } catch (error) {
        if (!(error instanceof FencedError)) throw error;
        sim.sometimes("a late writer was refused");
        if (!claim.lost.aborted) throw new Error("the writer was refused, and its claim is not lost");
        break;
      }
      await sim.sleep(sim.oneOf([0, TTL / 3, TTL * 2], "pause"));
    }
    if (sim.choose(2, "gives the lead back") === 1) await claim.release();
  }
  void system;
}

describe("hosts that share a store", () => {
  it("write under one claim at a time: none of the old owner after the first of the new [K12]", async () => {
    await explored(
      async (sim) => {
        const source = sim.store({ shared: true, failures: { answer: true } });
        const ends = ["a", "b"].map(async (by) => {
          const system = sim.system({ name: by, clock: { driftPpm: [0, -700_000, 200_000] } });
          const store = await openStore(system, source, [SCHEMA]);
          await host(sim, system, store, by);
          return store;
        });
        const stores = await Promise.all(ends);
        const rows = await (stores[0] as Store).scan(lead, {});
        const tokens = rows.map((row) => row.token);
        sim.sometimes("the lead went over", new Set(rows.map((row) => row.by)).size > 1);
        expect(tokens).toEqual([...tokens].sort((x, y) => x - y));
        expect(rows.map((row) => row.no)).toEqual(rows.map((_, i) => i + 1));
        for (const store of stores) await store.close();
      },
      { quick: 60, seed: 3, sometimes: ["a late writer was refused", "the lead went over"] },
    );
  });

  it("lose no update of transactions that overtake each other, and commit again what a power loss took [K13]", async () => {
    await explored(
      async (sim) => {
        const source = sim.store({ shared: true, failures: { answer: true, atMost: 2 } });
        let losses = sim.choose(3, "power losses");
        const adds = ["a", "b"].map(async (name) => {
          const store = await openStore(sim.system({ name }), source, [SCHEMA]);
          let done = 0;
          for (let i = 0; i < 3; i++) {
            const add = transact(
              store,
              async (tx) => {
                const row = await tx.get(counter, ["hits"]);
                await sim.sleep(0);
                tx.put(counter, { id: "hits", n: (row?.n ?? 0) + 1 });
              },
              { attempts: 50 },
            );
            await add;
            done++;
          }
          return { store, done };
        });
        const power = async (): Promise<void> => {
          for (; losses > 0; losses--) {
            for (let steps = sim.choose(10, "steps before"); steps >= 0; steps--) await sim.sleep(0);
            if (source.lose() > 0) sim.sometimes("a commit was lost on its way");
          }
        };
        const [ends] = await Promise.all([Promise.all(adds), power()]);
        const [row] = await (ends[0] as { store: Store }).store.get(counter, [["hits"]]);
        expect(row?.n ?? 0).toBe(ends.reduce((sum, { done }) => sum + done, 0));
        for (const { store } of ends) await store.close();
      },
      { quick: 100, seed: 4, sometimes: ["a commit was lost on its way"] },
    );
  });
});
