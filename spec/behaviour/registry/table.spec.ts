// The entries of a registry against a plain list of them.

import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { RegistryTable } from "../../../lib/behaviour/registry/table.js";

interface Row {
  readonly key: string;
  readonly owner: number;
  readonly value: number;
}

const key = fc.constantFrom("a", "b", "c");
const owner = fc.nat(2);
const step = fc.oneof(
  fc.record({ do: fc.constant("add" as const), key, owner, value: fc.nat(9) }),
  fc.record({ do: fc.constant("remove" as const), key, owner }),
  fc.record({ do: fc.constant("release" as const), owner }),
);

const plain = (held: readonly Row[]): Row[] => held.map(({ key, owner, value }) => ({ key, owner, value }));
const sorted = (rows: readonly Row[]): string[] => rows.map((row) => JSON.stringify(row)).sort();

describe.each([true, false])("a table, unique: %s", (isUnique) => {
  test.prop([fc.array(step, { maxLength: 40 })])("holds what a list of rows holds", (steps) => {
    const table = new RegistryTable<string, number, number>(isUnique);
    let rows: Row[] = [];
    for (const one of steps) {
      switch (one.do) {
        case "add": {
          const holder = isUnique ? rows.find((row) => row.key === one.key)?.owner : undefined;
          expect(table.blocker(one.key)).toBe(holder);
          if (holder !== undefined) break;
          const { key, owner, value } = one;
          table.add(key, owner, value);
          rows.push({ key, owner, value });
          break;
        }
        case "remove": {
          const isGone = (row: Row): boolean => row.key === one.key && row.owner === one.owner;
          expect(plain(table.remove(one.key, one.owner))).toEqual(rows.filter(isGone));
          rows = rows.filter((row) => !isGone(row));
          break;
        }
        default:
          expect(plain(table.release(one.owner))).toEqual(rows.filter((row) => row.owner === one.owner));
          rows = rows.filter((row) => row.owner !== one.owner);
      }
      expect(table.size).toBe(rows.length);
      expect(sorted(plain([...table]))).toEqual(sorted(rows));
      for (const key of ["a", "b", "c"]) {
        expect(plain(table.of(key))).toEqual(rows.filter((row) => row.key === key));
        expect(table.first(key)?.value).toBe(rows.find((row) => row.key === key)?.value);
      }
      for (const owner of [0, 1, 2])
        expect(plain(table.ownedBy(owner))).toEqual(rows.filter((row) => row.owner === owner));
    }
  });
});
