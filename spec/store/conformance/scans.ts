// Scans: every bound, order and limit, against a naive sort and filter.

import * as fc from "fast-check";
import { OptionError } from "signalbox";
import { type AnyRow, defineTable, type Scan, type Store, type Table, type Value } from "signalbox/store";
import { expect, it } from "vitest";
import { bench, type Kind } from "./bench.js";

const shelf: Table = defineTable("shelf", {
  columns: { a: "text", b: "integer", n: "integer?", t: "text?", x: "real?" },
  key: ["a", "b"],
  indexes: { t: ["t"], nt: ["n", "t"], x: ["x", "a"] },
});

const TEXTS = ["", "A", "a", "aa", "é", "z", "\ue000", "\uffff", "\u{10000}", "\u{10ffff}", "a ", "10", "9"];
const text = fc.constantFrom(...TEXTS);
const whole = fc.integer({ min: -2, max: 2 });
const real = fc.constantFrom(-1.5, -1, 0, 0.5, 10, 9);
const orNull = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(of, { nil: null, freq: 4 });
const row = fc.record({ a: text, b: whole, n: orNull(whole), t: orNull(text), x: orNull(real) });
const rows = fc.uniqueArray(row, { minLength: 5, maxLength: 40, selector: ({ a, b }) => `${b}${a}` });

const VALUES: Record<string, fc.Arbitrary<Value>> = { a: text, b: whole, n: whole, t: text, x: real };

/** Values that some rows of a range have. */
const wanted = fc.oneof(
  fc.record({ n: orNull(whole) }),
  fc.record({ t: orNull(text) }),
  fc.record({ n: orNull(whole), x: orNull(real) }),
);

const scan: fc.Arbitrary<Scan> = fc
  .constantFrom(undefined, "t", "nt", "x")
  .chain((index) => {
    const columns = columnsOf(index);
    return fc.integer({ min: 0, max: columns.length }).chain((length) => {
      const prefix = fc.tuple(...columns.slice(0, length).map((name) => VALUES[name] as fc.Arbitrary<Value>));
      const next = columns[length] === undefined ? fc.constant(undefined) : VALUES[columns[length]];
      const bound = fc.option(next as fc.Arbitrary<Value>, { nil: undefined });
      return fc.record({
        index: fc.constant(index),
        prefix,
        low: fc.constantFrom("from", "after"),
        lower: bound,
        below: bound,
        where: fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: wanted, weight: 1 }),
        reverse: fc.boolean(),
        limit: fc.constantFrom(1, 2, 5, 1_000),
      });
    });
  })
  .map(({ index, low, lower, below, where, ...rest }) => ({
    ...rest,
    ...(where !== undefined && { where }),
    ...(index !== undefined && { index }),
    ...(lower !== undefined && { [low]: lower }),
    ...(below !== undefined && { below }),
  }));

/** Scans that differ in their prefix of one value, one of them twice. */
const alike: fc.Arbitrary<Scan[]> = scan
  .filter(({ prefix, from, after, below }) =>
    prefix?.length === 0 ? [from, after, below].every((bound) => bound === undefined) : prefix?.length === 1,
  )
  .chain((one) => {
    const value = VALUES[columnsOf(one.index)[0] as string] as fc.Arbitrary<Value>;
    const values = fc.uniqueArray(value, { minLength: 4, maxLength: 6 });
    return values.map((all) => [all[0] as Value, ...all].map((first) => ({ ...one, prefix: [first] })));
  });

const utf8 = new TextEncoder();

/** Null first, numbers by size, texts byte by byte in UTF-8. */
function order(one: Value | undefined, other: Value | undefined): number {
  if (one === other) return 0;
  if (one === null || one === undefined) return -1;
  if (other === null || other === undefined) return 1;
  return typeof one === "number"
    ? one - (other as number)
    : Buffer.compare(utf8.encode(one as string), utf8.encode(other as string));
}

function columnsOf(index: string | undefined): readonly string[] {
  return index === undefined ? shelf.key : (shelf.indexes?.[index] as readonly string[]);
}

function naively(
  all: readonly AnyRow[],
  { index, prefix = [], from, after, below, where = {}, reverse, limit = 1_000 }: Scan,
): AnyRow[] {
  const columns = columnsOf(index);
  const next = columns[prefix.length] ?? "";
  const names = [...columns, ...shelf.key];
  const inside = all.filter((one) => {
    if (one[columns[0] as string] === null) return false;
    if (prefix.some((value, i) => one[columns[i] as string] !== value)) return false;
    if (Object.entries(where).some(([name, value]) => one[name] !== value)) return false;
    if (from === undefined && after === undefined && below === undefined) return true;
    const value = one[next];
    if (value === null) return false;
    if (from !== undefined && order(value, from) < 0) return false;
    if (after !== undefined && order(value, after) <= 0) return false;
    return below === undefined || order(value, below) < 0;
  });
  inside.sort((one, other) => {
    for (const name of names) if (order(one[name], other[name]) !== 0) return order(one[name], other[name]);
    return 0;
  });
  if (reverse) inside.reverse();
  return inside.slice(0, limit);
}

async function fill(store: Store, all: readonly AnyRow[]): Promise<void> {
  await store.commit({
    writes: [
      { type: "clear", table: shelf, prefix: [] },
      ...all.map((one) => ({ type: "insert", table: shelf, row: one }) as const),
    ],
  });
}

export function scanTests(kind: Kind): void {
  const at = bench(kind, { name: "shelves", version: 1, tables: [shelf] });

  it("give the rows that a naive filter and sort gives, in random tables", async () => {
    const { store } = at();
    let found = 0;
    // A table is filled quickly; fewer may all be empty.
    const numRuns = Math.max(kind.runs, 6);
    await fc.assert(
      fc.asyncProperty(rows, fc.array(scan, { minLength: 1, maxLength: 10 }), async (all, scans) => {
        await fill(store, all);
        for (const one of scans) {
          const wanted = naively(all, one);
          expect(await store.scan(shelf, one)).toEqual(wanted);
          const { limit: _limit, reverse: _reverse, ...range } = one;
          const count = naively(all, { ...range, limit: 100_000 }).length;
          expect(await store.count(shelf, range)).toBe(count);
          expect(await store.count(shelf, { ...range, atMost: 3 })).toBe(Math.min(3, count));
          found += wanted.length;
        }
      }),
      { numRuns, seed: 5 },
    );
    expect(found).toBeGreaterThan(numRuns);
  });

  it("give each its own rows when many begin at once, in random tables", async () => {
    const { store } = at();
    let found = 0;
    await fc.assert(
      fc.asyncProperty(rows, fc.array(alike, { minLength: 1, maxLength: 5 }), async (all, groups) => {
        await fill(store, all);
        const scans = groups.flat();
        const wanted = scans.map((one) => naively(all, one));
        const got = await Promise.all(scans.map((one) => store.scan(shelf, one)));
        expect(got).toEqual(wanted);
        expect(new Set(got.flat()).size).toBe(got.flat().length);
        found += wanted.flat().length;
      }),
      { numRuns: kind.runs, seed: 7 },
    );
    expect(found).toBeGreaterThan(kind.runs);
  });

  it("give each its first rows when many of many rows begin at once", async () => {
    const { store } = at();
    const all = ["a", "b", "c", "d"].flatMap((a) => Array.from({ length: 3_000 }, (_, b) => ({ a, b })));
    await fill(store, all);
    for (const limit of [1, 10, 2_000, 2_500, 4_000]) {
      const scans = ["d", "a", "none", "c", "b"].map((a) => ({ prefix: [a], limit }));
      const got = await Promise.all(scans.map((one) => store.scan(shelf, one)));
      const count = Math.min(limit, 3_000);
      expect(got.map(({ length }) => length)).toEqual([count, count, 0, count, count]);
      expect(got.map((some) => some.at(-1)?.a)).toEqual(["d", "a", undefined, "c", "b"]);
      expect(got[0]?.at(-1)?.b).toBe(count - 1);
    }
  });

  it("give 1,000 rows unless they say otherwise", async () => {
    const { store } = at();
    await fill(
      store,
      Array.from({ length: 1_500 }, (_, b) => ({ a: "a", b })),
    );
    expect((await store.scan(shelf, {})).map((one) => one.b)).toEqual(
      Array.from({ length: 1_000 }, (_, b) => b),
    );
    expect(await store.scan(shelf, { limit: 1_500 })).toHaveLength(1_500);
    expect(await store.count(shelf, {})).toBe(1_500);
    const page = await store.scan(shelf, { prefix: ["a"], after: 1_200, limit: 2 });
    expect(page.map((one) => one.b)).toEqual([1_201, 1_202]);
  });

  it("give only rows with the values that are wanted, and count no more than they are asked to [N1145]", async () => {
    const { store } = at();
    const all = [1, null, 2, null, 1, null].map((n, b) => ({ a: "a", b, n, t: b < 4 ? "x" : null }));
    await fill(store, all);
    const bs = async (one: Scan): Promise<unknown[]> => (await store.scan(shelf, one)).map(({ b }) => b);
    expect(await bs({ where: { n: null } })).toEqual([1, 3, 5]);
    expect(await bs({ where: { n: null }, limit: 2 })).toEqual([1, 3]);
    expect(await bs({ where: { n: null }, limit: 2, reverse: true })).toEqual([5, 3]);
    expect(await bs({ index: "t", prefix: ["x"], where: { n: null } })).toEqual([1, 3]);
    expect(await bs({ where: { n: 1, t: null } })).toEqual([4]);
    const counts = [{}, { atMost: 4 }, { atMost: 4, where: { n: null } }, { atMost: 2, where: { n: null } }];
    expect(await Promise.all(counts.map((one) => store.count(shelf, one)))).toEqual([6, 4, 3, 2]);
    await expect(store.scan(shelf, { where: { none: 1 } })).rejects.toThrow(/none/);
    await expect(store.count(shelf, { atMost: 0 })).rejects.toThrow(OptionError);
  });

  it("give the rows of the keys that are asked for, in their order", async () => {
    const { store } = at();
    await fill(store, [
      { a: "a", b: 1 },
      { a: "a", b: 2 },
    ]);
    const got = await store.get(shelf, [
      ["a", 2],
      ["b", 1],
      ["a", 1],
      ["a", 2],
    ]);
    expect(got.map((one) => one?.b)).toEqual([2, undefined, 1, 2]);
    expect(await store.get(shelf, [])).toEqual([]);
    const many = Array.from({ length: 2_500 }, (_, b) => ["a", b] as const);
    expect((await store.get(shelf, many)).filter((one) => one !== undefined)).toHaveLength(2);
  });

  it.each<readonly [string, object, string]>([
    ["an index that is not there", { index: "color" }, "index"],
    ["a bound behind a whole key", { prefix: ["a", 1], from: 1 }, "scan.from"],
    ["two lower bounds", { from: "a", after: "a" }, "scan.after"],
    ["a limit of 0", { limit: 0 }, "scan.limit"],
    ["a limit that is too large", { limit: 100_001 }, "scan.limit"],
    ["a limit that is no number", { limit: "all" }, "scan.limit"],
    ["an option that is misspelled", { revers: true }, "scan.revers"],
  ])("refuse %s", async (_, given, path) => {
    const refused = at().store.scan(shelf, given as Scan);
    await expect(refused).rejects.toThrow(OptionError);
    await expect(refused).rejects.toMatchObject({ path });
  });

  it("refuse bounds of another type, and null", async () => {
    const { store } = at();
    await expect(store.scan(shelf, { prefix: [1] })).rejects.toMatchObject({
      code: "ERR_STORE_VALUE",
      column: "a",
    });
    await expect(store.scan(shelf, { prefix: ["a"], from: "b" })).rejects.toMatchObject({ column: "b" });
    await expect(store.scan(shelf, { index: "t", from: null })).rejects.toMatchObject({ column: "t" });
    await expect(store.get(shelf, [["a"]])).rejects.toMatchObject({ code: "ERR_STORE_VALUE" });
  });
}
