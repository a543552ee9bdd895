// Write sets: all kinds of write, expectations, unique indexes, numbers, groups.

import * as fc from "fast-check";
import {
  type AnyRow,
  ConflictError,
  type Store,
  type Table,
  transact,
  type Value,
  ValueError,
  type WriteSet,
} from "signalbox/store";
import { expect, it } from "vitest";
import { NaiveStore, type Refusal } from "../naive-store.js";
import { groups, log, mail, pair, plain, tables } from "../random-sets.js";
import { bench, empty, type Kind, SCHEMA } from "./bench.js";

const all = async (store: Store, table: Table): Promise<AnyRow[]> => store.scan(table, {});

const text = (value: unknown): string =>
  JSON.stringify(value, (_, one) => (one instanceof Uint8Array ? [...one, "bytes"] : one));

/** The numbers that the store gave, by those of the model: a store may leave numbers out. */
class Numbers {
  readonly #given = new Map<string, Map<number, number>>();

  give(table: Table, naive: number, given: number): void {
    const numbers = this.#given.get(table.name) ?? new Map<number, number>();
    for (const earlier of numbers.values()) expect(given).toBeGreaterThan(earlier);
    this.#given.set(table.name, numbers.set(naive, given));
  }

  of(table: Table, naive: number): number {
    return this.#given.get(table.name)?.get(naive) ?? 1_000_000_000 + naive;
  }
}

/** Replaces the numbers of a random set: 0 is the last that the model gave before this group, 1 and more were never given. */
function numberedBy(numbers: (table: Table, number: number) => number, set: WriteSet): WriteSet {
  const key = <T extends { table: Table; key?: readonly Value[] }>(one: T): T =>
    one.table.counted === undefined || one.key === undefined
      ? one
      : { ...one, key: [numbers(one.table, one.key[0] as number)] };
  return { ...set, expect: (set.expect ?? []).map(key), writes: set.writes.map(key) };
}

async function settledOf(store: Store, set: WriteSet): Promise<readonly number[] | Refusal> {
  try {
    return (await store.commit(set)).results;
  } catch (error) {
    if (error instanceof ConflictError) return "conflict";
    if (error instanceof ValueError) return "value";
    throw error;
  }
}

/** One group after another, the sets of a group at once; both with the model's results and rows. */
async function compare(store: Store, history: readonly (readonly WriteSet[])[]): Promise<void> {
  const naive = new NaiveStore();
  const numbers = new Numbers();
  await empty(store);
  for (const group of history) {
    const last = new Map(naive.numbers);
    const model = (table: Table, number: number): number =>
      number > 0 ? 1_000 + number : (last.get(table.name) ?? 0) + number;
    const wanted = group.map((set) => naive.commit(numberedBy(model, set)));
    const given = group.map((set) =>
      numberedBy((table, number) => numbers.of(table, model(table, number)), set),
    );
    const outcomes = await Promise.all(given.map((set) => settledOf(store, set)));
    for (const [i, outcome] of outcomes.entries()) {
      const naively = wanted[i] as readonly number[] | Refusal;
      if (typeof outcome === "string" || typeof naively === "string") {
        expect(outcome).toBe(naively);
        continue;
      }
      for (const [at, { type, table }] of (group[i] as WriteSet).writes.entries()) {
        const isNumbered = table.counted !== undefined && (type === "insert" || type === "offer");
        const result = naively[at] as number;
        if (isNumbered && result !== 0) numbers.give(table, result, outcome[at] as number);
        else expect(outcome[at]).toBe(result);
      }
    }
    for (const table of tables) {
      const rows = naive.rows(table).map((row) => {
        const { counted } = table;
        return counted === undefined ? row : { ...row, [counted]: numbers.of(table, row[counted] as number) };
      });
      const sorted = (list: readonly AnyRow[]): string[] =>
        list.map((row) => text(Object.entries(row).sort())).sort();
      expect(sorted(await all(store, table))).toEqual(sorted(rows));
    }
  }
}

export function writeTests(kind: Kind): void {
  const at = bench(kind);

  it("do what a naive store does, in random histories", async () => {
    const { store } = at();
    await fc.assert(
      fc.asyncProperty(groups, (history) => compare(store, history)),
      { numRuns: kind.runs, seed: 11 },
    );
  });

  it("insert, offer, put, update, delete and clear", async () => {
    const { store } = at();
    await empty(store);
    const { results } = await store.commit({
      writes: [
        { type: "insert", table: plain, row: { id: "a", n: 1, body: "one" } },
        { type: "offer", table: plain, row: { id: "a", n: 2 } },
        { type: "offer", table: plain, row: { id: "b", n: 2 } },
        { type: "put", table: plain, row: { id: "a", n: 3 } },
        { type: "update", table: plain, key: ["a"], set: { body: "two" }, add: { n: 4 } },
        { type: "update", table: plain, key: ["z"], set: { body: "none" } },
        { type: "delete", table: plain, key: ["b"] },
        { type: "delete", table: plain, key: ["z"] },
        { type: "put", table: plain, row: { id: "c", n: 9 } },
        { type: "clear", table: plain, index: "by_n", prefix: [9] },
      ],
    });
    expect(results).toEqual([1, 0, 1, 1, 1, 0, 1, 0, 1, 1]);
    expect(await all(store, plain)).toEqual([{ id: "a", n: 7, body: "two" }]);
  });

  it.each<[string, WriteSet]>([
    ["deletes", { writes: [{ type: "delete", table: plain, key: ["a"] }] }],
    ["clears away", { writes: [{ type: "clear", table: plain, prefix: [] }] }],
  ])("may expect that to be absent which an earlier set of the group %s", async (_how, removal) => {
    const { store } = at();
    await empty(store);
    await store.commit({ writes: [{ type: "insert", table: plain, row: { id: "a", n: 1 } }] });
    // The first is committed alone; the others gather meanwhile, and are one group.
    await Promise.all([
      store.commit({ writes: [{ type: "put", table: plain, row: { id: "b", n: 1 } }] }),
      store.commit(removal),
      store.commit({ writes: [], expect: [{ table: plain, key: ["a"], is: "absent" }] }),
    ]);
    expect((await all(store, plain)).map(({ id }) => id)).not.toContain("a");
  });

  it("refuse an insert of a row that is there, and all of its set", async () => {
    const { store } = at();
    await empty(store);
    await store.commit({ writes: [{ type: "insert", table: plain, row: { id: "a", n: 1 } }] });
    const refused = store.commit({
      writes: [
        { type: "put", table: plain, row: { id: "b", n: 1 } },
        { type: "insert", table: plain, row: { id: "a", n: 2 } },
      ],
    });
    await expect(refused).rejects.toThrow(ConflictError);
    await expect(refused).rejects.toMatchObject({ code: "ERR_STORE_CONFLICT", table: "plain", key: ["a"] });
    expect(await all(store, plain)).toEqual([{ id: "a", n: 1, body: null }]);
  });

  it("make the writes of a when if the row is so at its place in the set, and only then", async () => {
    const { store } = at();
    await empty(store);
    const ended = (n: number): WriteSet["writes"][number] => ({
      type: "when",
      table: plain,
      key: ["a"],
      is: { n },
      writes: [
        { type: "update", table: plain, key: ["a"], set: { body: `was ${n}` } },
        { type: "insert", table: log, row: { flow: `ended at ${n}` } },
      ],
    });
    const { results } = await store.commit({
      writes: [
        ended(0),
        { type: "insert", table: plain, row: { id: "a", n: 2 } },
        ended(0),
        { type: "update", table: plain, key: ["a"], add: { n: -2 } },
        ended(0),
        { type: "update", table: plain, key: ["a"], add: { n: 1 } },
        ended(0),
      ],
    });
    expect(results).toEqual([0, 1, 0, 1, 1, 1, 0]);
    expect(await all(store, plain)).toEqual([{ id: "a", n: 1, body: "was 0" }]);
    expect((await all(store, log)).map(({ flow }) => flow)).toEqual(["ended at 0"]);
  });

  it("see in a when what sets before have done, and refuse the set if a write in it is refused", async () => {
    const { store } = at();
    await empty(store);
    await store.commit({ writes: [{ type: "insert", table: plain, row: { id: "a", n: 3 } }] });
    const step: WriteSet = {
      writes: [
        { type: "update", table: plain, key: ["a"], add: { n: -1 } },
        {
          type: "when",
          table: plain,
          key: ["a"],
          is: { n: 0 },
          writes: [{ type: "insert", table: plain, row: { id: "b", n: 1 } }],
        },
      ],
    };
    const sets = await Promise.all([1, 2, 3].map(() => store.commit(step)));
    expect(sets.map(({ results }) => results[1])).toEqual([0, 0, 1]);
    await store.commit({ writes: [{ type: "update", table: plain, key: ["a"], add: { n: 1 } }] });
    await expect(store.commit(step)).rejects.toThrow(ConflictError);
    expect((await all(store, plain)).map(({ n }) => n)).toEqual([1, 1]);
  });

  it("refuse a when that is malformed", async () => {
    const { store } = at();
    const when = (more: object): Promise<unknown> =>
      store.commit({
        writes: [{ type: "when", table: plain, key: ["a"], is: {}, writes: [], ...more } as never],
      });
    await expect(when({ is: null })).rejects.toMatchObject({ code: "ERR_OPTION" });
    await expect(when({ is: { nothing: 1 } })).rejects.toThrow(ValueError);
    await expect(when({ is: { n: "one" } })).rejects.toThrow(ValueError);
    await expect(when({ key: [] })).rejects.toThrow(ValueError);
    await expect(when({ writes: undefined })).rejects.toMatchObject({ code: "ERR_OPTION" });
    await expect(
      when({ writes: [{ type: "when", table: plain, key: ["a"], is: {}, writes: [] }] }),
    ).rejects.toMatchObject({ code: "ERR_OPTION" });
    await expect(when({ writes: [{ type: "insert", table: plain, row: { id: 1 } }] })).rejects.toThrow(
      ValueError,
    );
  });

  it("check what a set expects, before its writes", async () => {
    const { store } = at();
    await empty(store);
    const put = { type: "put", table: plain, row: { id: "a", n: 1, body: "x" } } as const;
    await store.commit({ expect: [{ table: plain, key: ["a"], is: "absent" }], writes: [put] });
    const with_ = (is: WriteSet["expect"] & object): Promise<unknown> =>
      store.commit({ expect: is, writes: [] });
    await with_([{ table: plain, key: ["a"], is: "present" }]);
    await with_([{ table: plain, key: ["a"], is: { n: 1, body: "x" } }]);
    await expect(with_([{ table: plain, key: ["a"], is: "absent" }])).rejects.toThrow(
      /expected no row, found/,
    );
    await expect(with_([{ table: plain, key: ["b"], is: "present" }])).rejects.toThrow(
      /expected a row, found no row/,
    );
    await expect(with_([{ table: plain, key: ["a"], is: { n: 2 } }])).rejects.toThrow(
      /expected {"n":2}, found {"n":1}/,
    );
    await expect(with_([{ table: plain, key: ["a"], is: { body: null } }])).rejects.toThrow(ConflictError);
    await expect(with_([{ table: plain, key: ["b"], is: { n: 2 } }])).rejects.toThrow(/found no row/);
  });

  it("check how many rows a range has, and leave no gap between the count and the commit", async () => {
    const { store, place, context } = at();
    await empty(store);
    const rows = (number: number): WriteSet => ({
      expect: [{ table: log, index: "flow", prefix: ["a"], rows: number }],
      writes: [{ type: "insert", table: log, row: { flow: "a" } }],
    });
    await store.commit(rows(0));
    await expect(store.commit(rows(0))).rejects.toThrow(
      'log ["a"]: expected 0 rows by flow, found 1 rows; nothing was written',
    );
    for (const wrong of [-1, 0.5, Number.NaN])
      await expect(store.commit(rows(wrong))).rejects.toThrow("expect.rows");
    const unknown = { expect: [{ table: log, index: "no such", prefix: [], rows: 0 }], writes: [] };
    await expect(store.commit(unknown)).rejects.toThrow("index");
    const other = await place.other?.open([SCHEMA], context);
    // Sets that race, of one host and of several: one of each round is applied.
    for (let round = 1; round <= 10; round++) {
      const sets = [store, other ?? store, store, other ?? store].map((one) => settledOf(one, rows(round)));
      expect((await Promise.all(sets)).filter((one) => one === "conflict")).toHaveLength(3);
    }
    expect(await store.count(log, {})).toBe(11);
    await other?.close();
  });

  it("of transact end as if the transactions had run one after another, rows that others add included", async () => {
    const { store, place, context } = at();
    await empty(store);
    const other = await place.other?.open([SCHEMA], context);
    // Each gives its row the number of rows that it has seen: in any order of the transactions no number comes twice.
    const add = (one: Store, i: number): Promise<void> =>
      transact(
        one,
        async (tx) => {
          const { length } = await tx.scan(pair, { index: "by_v", prefix: ["a"] });
          tx.insert(pair, { a: `${i}`, b: length, v: "a" });
        },
        { attempts: 1_000 },
      );
    await Promise.all(Array.from({ length: 8 }, (_, i) => add(i % 2 === 0 ? store : (other ?? store), i)));
    const numbers = (await all(store, pair)).map(({ b }) => b).sort();
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await other?.close();
  });

  it("allow no two rows with the same values of a unique index, null excepted", async () => {
    const { store } = at();
    await empty(store);
    const row = (a: string, u: number | null): AnyRow => ({ a, b: 0, u });
    const put = (given: AnyRow): Promise<unknown> =>
      store.commit({ writes: [{ type: "put", table: pair, row: given }] });
    await put(row("a", 1));
    await put(row("b", null));
    await put(row("c", null));
    await expect(put(row("b", 1))).rejects.toThrow(/by_u/);
    await put(row("a", 1));
    await expect(
      store.commit({ writes: [{ type: "update", table: pair, key: ["c", 0], set: { u: 1 } }] }),
    ).rejects.toThrow(ConflictError);
    // Two rows exchange their values within one set.
    await put(row("b", 2));
    await store.commit({
      writes: [
        { type: "update", table: pair, key: ["a", 0], set: { u: null } },
        { type: "update", table: pair, key: ["b", 0], set: { u: 1 } },
        { type: "update", table: pair, key: ["a", 0], set: { u: 2 } },
      ],
    });
    const rows = await all(store, pair);
    expect(rows.map(({ a, u }) => [a, u])).toEqual([
      ["a", 2],
      ["b", 1],
      ["c", null],
    ]);
  });

  it("number the rows of counted tables, and use no number again", async () => {
    const { store } = at();
    await empty(store);
    const insert = { type: "insert", table: log, row: { flow: "a" } } as const;
    const { results } = await store.commit({ writes: [insert, insert, insert] });
    const [first, second, third] = results as [number, number, number];
    expect(first < second && second < third).toBe(true);
    await store.commit({ writes: [{ type: "delete", table: log, key: [third] }] });
    const [next] = (await store.commit({ writes: [insert] })).results as [number];
    expect(next).toBeGreaterThan(third);
    expect((await store.get(log, [[second]]))[0]).toEqual({ no: second, flow: "a", body: null });
    const offers = await store.commit({
      writes: [
        { type: "offer", table: mail, row: { to: "a", dedup: "x" } },
        { type: "offer", table: mail, row: { to: "a", dedup: "x" } },
      ],
    });
    expect(offers.results).toEqual([expect.any(Number), 0]);
    expect(offers.results[0]).toBeGreaterThan(0);
  });

  it("apply the sets of a group each as a whole, in the order of their submission", async () => {
    const { store } = at();
    await empty(store);
    const order: string[] = [];
    const one = (name: string, set: WriteSet): Promise<void> =>
      new Promise((resolve) => {
        store.submit(set, (error) => {
          order.push(`${name} ${error === undefined ? "applied" : error.name}`);
          resolve();
        });
      });
    await Promise.all([
      one("first", { writes: [{ type: "insert", table: plain, row: { id: "a", n: 1 } }] }),
      one("second", {
        expect: [{ table: plain, key: ["a"], is: { n: 5 } }],
        writes: [{ type: "put", table: plain, row: { id: "b", n: 1 } }],
      }),
      one("third", {
        expect: [{ table: plain, key: ["a"], is: { n: 1 } }],
        writes: [{ type: "update", table: plain, key: ["a"], add: { n: 1 } }],
      }),
      one("fourth", { expect: [{ table: plain, key: ["a"], is: { n: 2 } }], writes: [] }),
    ]);
    expect(order).toEqual(["first applied", "second ConflictError", "third applied", "fourth applied"]);
    expect(await all(store, plain)).toEqual([{ id: "a", n: 2, body: null }]);
  });

  it("settle a set of nothing behind all sets before it, and never in the turn of its submission", async () => {
    const { store } = at();
    await empty(store);
    const order: string[] = [];
    const settled = new Promise<void>((resolve) => {
      store.submit({ writes: [{ type: "put", table: plain, row: { id: "a" } }] }, () => order.push("write"));
      store.submit({ writes: [] }, () => {
        order.push("nothing");
        resolve();
      });
      store.submit({ writes: [{ type: "put", table: plain, row: {} }] }, () => order.push("refused"));
    });
    expect(order).toEqual([]);
    await settled;
    expect(order.filter((name) => name !== "refused")).toEqual(["write", "nothing"]);
  });

  it("are seen by reads that begin after their commit", async () => {
    const { store } = at();
    await empty(store);
    for (let n = 0; n < 20; n++) {
      await store.commit({ writes: [{ type: "put", table: plain, row: { id: "a", n } }] });
      expect((await store.get(plain, [["a"]]))[0]?.n).toBe(n);
      expect((await store.scan(plain, {}))[0]?.n).toBe(n);
    }
  });

  it("take thousands of sets at once", async () => {
    const { store } = at();
    await empty(store);
    const sets = Array.from(
      { length: 3_000 },
      (_, i): WriteSet => ({
        writes: [{ type: "insert", table: log, row: { flow: `f${i % 10}`, body: `${i}` } }],
      }),
    );
    const numbers = (await Promise.all(sets.map((set) => store.commit(set)))).map(
      ({ results }) => results[0] as number,
    );
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(await store.count(log, {})).toBe(3_000);
    expect(await store.count(log, { index: "flow", prefix: ["f3"] })).toBe(300);
    const rows = await store.scan(log, { limit: 10_000 });
    expect(rows.map((row) => row.body)).toEqual(sets.map((_, i) => `${i}`));
  });
}
