// The plan of a group against a naive store that applies the same sets one after another.

import * as fc from "fast-check";
import {
  type AnyRow,
  type Expectation,
  FencedError,
  type Table,
  type Value,
  ValueError,
  type Write,
  type WriteSet,
} from "signalbox/store";
import { describe, expect, it } from "vitest";
import { type Found, needs, numbered, plan, type Statement } from "../../lib/store/plan.js";
import { checkSet } from "../../lib/store/values.js";
import { sized } from "../support/proof.js";
import { NaiveStore, type Refusal } from "./naive-store.js";
import { groups, log, mail, pair, plain, tables } from "./random-sets.js";

type Row = Record<string, Value>;

const text = (value: unknown): string =>
  JSON.stringify(value, (_, one) => (one instanceof Uint8Array ? [...one, "bytes"] : one));

/** A database that knows nothing but statements, and checks its constraints after each row, as SQL does. */
class Database {
  readonly rows = new Map<Table, Row[]>(tables.map((table) => [table, []]));
  readonly numbers = new Map<Table, number>();

  /** The keys that the last group asked for. */
  asked = new Set<string>();

  /** Only what was asked for: columns and rows. */
  read(sets: readonly WriteSet[]): { needed: ReturnType<typeof needs>; found: Found } {
    const needed = needs(sets);
    this.asked = new Set(
      needed.tables.flatMap(({ table, keys }) => keys.map((key) => `${table.name} ${text(key)}`)),
    );
    const rows = new Map<string, AnyRow[]>();
    const counts = new Map<string, number[]>();
    for (const { table, columns, keys, uniques, ranges } of needed.tables) {
      const all = this.of(table);
      const isIn = (row: Row, index: string, prefix: readonly Value[]): boolean =>
        prefix.every((value, i) => row[(table.indexes?.[index] ?? table.key)[i] as string] === value);
      counts.set(
        table.name,
        ranges.map(({ index, prefix }) => all.filter((row) => isIn(row, index, prefix)).length),
      );
      const isAsked = (row: Row): boolean =>
        keys.some((key) => table.key.every((name, i) => row[name] === key[i])) ||
        uniques.some(({ index, values }) =>
          values.some((one) => table.indexes?.[index]?.every((name, i) => row[name] === one[i])),
        );
      const some = all
        .filter(isAsked)
        .map((row) => Object.fromEntries(columns.map((name) => [name, row[name] as Value])));
      rows.set(table.name, some);
    }
    return { needed, found: { rows, counts, held: () => true } };
  }

  carryOut(statement: Statement): void {
    const { table } = statement;
    const all = this.of(table);
    const at = (row: AnyRow): number =>
      all.findIndex((one) => table.key.every((name) => one[name] === row[name]));
    switch (statement.type) {
      case "insert":
        for (const [n, row] of statement.rows.entries()) {
          const full: Row = Object.fromEntries(
            Object.keys(table.columns).map((name) => [name, row[name] ?? null]),
          );
          if (table.counted !== undefined) {
            const number = (this.numbers.get(table) ?? 0) + 1;
            this.numbers.set(table, number);
            full[table.counted] = number;
            numbered(statement.slots!, n, number);
          }
          expect(at(full)).toBe(-1);
          all.push(full);
          this.check(table);
        }
        return;
      case "put":
        for (const row of statement.rows) {
          const full: Row = Object.fromEntries(
            Object.keys(table.columns).map((name) => [name, row[name] ?? null]),
          );
          const place = at(full);
          if (place < 0) all.push(full);
          else all[place] = full;
          this.check(table);
        }
        return;
      case "update":
        for (const row of statement.rows) {
          const place = at(row);
          expect(place).toBeGreaterThanOrEqual(0);
          all[place] = {
            ...all[place],
            ...Object.fromEntries(statement.columns.map((name) => [name, row[name] ?? null])),
          };
          this.check(table);
        }
        return;
      case "delete":
        for (const key of statement.keys) {
          const place = at(Object.fromEntries(table.key.map((name, i) => [name, key[i] as Value])));
          // A row that was looked for is there.
          if (this.asked.has(`${table.name} ${text(key)}`)) expect(place).toBeGreaterThanOrEqual(0);
          if (place >= 0) all.splice(place, 1);
        }
        return;
      case "clear": {
        const columns = statement.index === "" ? table.key : (table.indexes?.[statement.index] ?? []);
        const left = all.filter(
          (row) =>
            row[columns[0] as string] === null ||
            !statement.prefix.every((value, i) => row[columns[i] as string] === value),
        );
        this.rows.set(table, left);
        numbered(statement.slots, 0, all.length - left.length);
      }
    }
  }

  of(table: Table): Row[] {
    return this.rows.get(table) as Row[];
  }

  private check(table: Table): void {
    for (const name of table.unique ?? []) {
      const values = this.of(table)
        .map((row) => table.indexes?.[name]?.map((column) => row[column]))
        .filter((one) => !one?.includes(null))
        .map(text);
      expect(new Set(values).size).toBe(values.length);
    }
  }
}

const sorted = (rows: readonly Row[]): string[] => rows.map((row) => text(Object.entries(row).sort())).sort();

/** Numbers from the past: 0 is the last one that the table gave before this group, -1 the next to last, 2 none that was ever given. */
function known(sets: readonly WriteSet[], naive: NaiveStore): WriteSet[] {
  const shift = <T extends { table: Table; key?: readonly Value[] }>(one: T): T => {
    const [number] = one.key ?? [];
    if (one.table.counted === undefined || number === undefined) return one;
    const last = naive.numbers.get(one.table.name) ?? 0;
    return { ...one, key: [(number as number) > 0 ? last + 1_000 : last + (number as number)] };
  };
  return sets.map((set) => ({
    ...set,
    expect: (set.expect ?? []).map(shift),
    writes: set.writes.map(shift),
  }));
}

const rowOf = (a: string): Row => ({ a, b: 1 });

const nameOf = (error: Error): Refusal => (error instanceof ValueError ? "value" : "conflict");

describe("the plan of a group", () => {
  it("does what the sets one after another would do [K1]", () => {
    let refused = 0;
    let merged = 0;
    fc.assert(
      fc.property(groups, (all) => {
        const naive = new NaiveStore();
        const database = new Database();
        for (const group of all) {
          const sets = known(group, naive);
          for (const set of sets) checkSet(set);
          const { needed, found } = database.read(sets);
          const { outcomes, statements } = plan(sets, needed, found);
          for (const statement of statements) database.carryOut(statement);
          const wanted = sets.map((set) => naive.commit(set));
          expect(outcomes.map((one) => (one instanceof Error ? nameOf(one) : one.results))).toEqual(wanted);
          for (const table of tables) expect(sorted(database.of(table))).toEqual(sorted(naive.rows(table)));
          refused += wanted.filter((one) => typeof one === "string").length;
          merged += statements.filter(
            (one) => one.type !== "clear" && (one.type === "delete" ? one.keys : one.rows).length > 1,
          ).length;
        }
      }),
      { numRuns: sized(300, 1, 1_000), seed: 7 },
    );
    expect(refused).toBeGreaterThan(100);
    expect(merged).toBeGreaterThan(100);
  });

  it("counts the rows of a range as the sets before leave them, and refuses what it cannot count", () => {
    const range = (index: string, value: string, rows: number): WriteSet => ({
      expect: [{ table: pair, index, prefix: [value], rows }],
      writes: [],
    });
    const inKey: Expectation = { table: pair, prefix: ["a"], rows: 2 };
    const of = (...sets: WriteSet[]): (string | undefined)[] => {
      const database = new Database();
      const rows = [
        { a: "a", b: 1, v: "x" },
        { a: "a", b: 2, v: "x" },
        { a: "b", b: 1, v: "y" },
      ];
      for (const row of rows)
        database.carryOut({ type: "insert", table: pair, rows: [{ u: null, x: null, ...row }] });
      const { needed, found } = database.read(sets);
      return plan(sets, needed, found).outcomes.map((one) =>
        one instanceof Error ? /expected .*;/.exec(one.message)?.[0] : undefined,
      );
    };
    const set = (...writes: Write[]): WriteSet => ({ writes });
    const moved: Write = { type: "update", table: pair, key: ["a", 1], set: { v: "y" } };
    expect(
      of(range("by_v", "x", 2), set(moved), range("by_v", "x", 1), range("by_v", "y", 2)).filter(Boolean),
    ).toEqual([]);
    expect(of(set(moved), range("by_v", "x", 2))).toEqual([
      undefined,
      "expected 2 rows by by_v, found 1 rows;",
    ]);
    const replaced: Write = { type: "put", table: pair, row: { a: "a", b: 2 } };
    expect(of(set(replaced), range("by_v", "x", 1), { expect: [inKey], writes: [] }).filter(Boolean)).toEqual(
      [],
    );
    const clear = (prefix: string[], index?: string): Write => ({
      type: "clear",
      table: pair,
      prefix,
      ...(index && { index }),
    });
    expect(
      of(set(clear(["x"], "by_v")), range("by_v", "x", 0), range("by_v", "y", 1)).filter(Boolean),
    ).toEqual([]);
    expect(of(set(clear([], "by_v")), range("by_v", "y", 0)).filter(Boolean)).toEqual([]);
    const unknown = "expected 2 rows by key, found others cleared in the same group;";
    expect(of(set(clear(["z"], "by_v")), { expect: [inKey], writes: [] })).toEqual([undefined, unknown]);
    // What a refused set has cleared is there again.
    const refused: WriteSet = {
      writes: [clear(["x"], "by_v"), { type: "insert", table: pair, row: rowOf("b") }],
    };
    expect(of(refused, range("by_v", "x", 2), { expect: [inKey], writes: [] })[0]).toContain("no row");
    expect(of(refused, range("by_v", "x", 2), { expect: [inKey], writes: [] }).slice(1)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it("makes one statement of all rows that a table gets", () => {
    const sets = Array.from(
      { length: 100 },
      (_, i): WriteSet => ({
        writes: [
          { type: "insert", table: log, row: { flow: `f${i}` } },
          { type: "put", table: plain, row: { id: `f${i}` } },
        ],
      }),
    );
    const { statements } = plan(sets, needs(sets), { rows: new Map(), counts: new Map(), held: () => true });
    expect(statements.map((one) => [one.type, one.table.name, "rows" in one ? one.rows.length : 0])).toEqual([
      ["insert", "log", 100],
      ["put", "plain", 100],
    ]);
  });

  it("reads nothing but claims for rows that are only appended", () => {
    const claim = { name: "flows/a", token: 3 } as WriteSet["claim"] & object;
    const set: WriteSet = { claim, writes: [{ type: "insert", table: log, row: { flow: "a" } }] };
    expect(needs([set, set])).toEqual({ tables: [], claims: [claim] });
  });

  it("asks for rows in one order, whatever the order of the writes [K2]", () => {
    const sets: WriteSet[] = [
      {
        writes: [
          { type: "delete", table: plain, key: ["b"] },
          { type: "insert", table: mail, row: { to: "a", dedup: "z" } },
        ],
      },
      {
        writes: [
          { type: "delete", table: pair, key: ["a", 10] },
          { type: "delete", table: pair, key: ["a", 9] },
        ],
      },
      {
        writes: [
          { type: "delete", table: plain, key: ["a"] },
          { type: "delete", table: plain, key: ["b"] },
        ],
      },
    ];
    const backwards = [...sets].reverse().map((set) => ({ writes: [...set.writes].reverse() }));
    expect(needs(backwards)).toEqual(needs(sets));
    expect(needs(sets).tables.map(({ table, keys, uniques }) => [table.name, keys, uniques])).toEqual([
      ["mail", [], [{ index: "dedup", values: [["z", "a"]] }]],
      [
        "pair",
        [
          ["a", 9],
          ["a", 10],
        ],
        [],
      ],
      ["plain", [["a"], ["b"]], []],
    ]);
  });

  it("makes the writes of a when in the one set that makes its row so, and in no other [Y1]", () => {
    const database = new Database();
    database.of(plain).push({ id: "a", n: 3, body: null });
    const end: Write = { type: "insert", table: log, row: { flow: "ended" } };
    const sets = [1, 2, 3, 4].map(
      (by): WriteSet => ({
        expect: by === 3 ? [{ table: plain, key: ["none"], is: "present" }] : [],
        writes: [
          { type: "update", table: plain, key: ["a"], add: { n: -1 } },
          { type: "when", table: plain, key: ["a"], is: { n: 0 }, writes: [end] },
        ],
      }),
    );
    const { needed, found } = database.read(sets);
    const { outcomes, statements } = plan(sets, needed, found);
    for (const statement of statements) database.carryOut(statement);
    expect(outcomes.map((one) => (one instanceof Error ? "refused" : one.results))).toEqual([
      [1, 0],
      [1, 0],
      "refused",
      [1, 1],
    ]);
    expect(database.of(log)).toHaveLength(1);
  });

  it("refuses the sets of a lost claim, and no others [K3]", () => {
    const insert = { type: "insert", table: log, row: { flow: "a" } } as const;
    const lost = { name: "flows/a", token: 3 } as WriteSet["claim"] & object;
    const held = { name: "flows/a", token: 4 } as WriteSet["claim"] & object;
    const sets: WriteSet[] = [
      { claim: lost, writes: [insert] },
      { claim: held, writes: [insert] },
      { writes: [insert] },
    ];
    const found: Found = { rows: new Map(), counts: new Map(), held: ({ token }) => token === 4 };
    const { outcomes, statements } = plan(sets, needs(sets), found);
    expect(outcomes.map((one) => one instanceof FencedError)).toEqual([true, false, false]);
    expect(statements.map((one) => "rows" in one && one.rows.length)).toEqual([2]);
  });
});
