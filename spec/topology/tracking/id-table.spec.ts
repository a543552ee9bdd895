// The table of ids against a Map, with ids that crowd each other.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import { IdTable } from "../../../lib/topology/tracking/id-table.js";
import { sized } from "../../support/proof.js";

/** What the table tells of a slot, as numbers in a row. */
const row = (table: IdTable, slot: number): number[] => [
  table.hi(slot),
  table.lo(slot),
  table.xorHi(slot),
  table.xorLo(slot),
  table.owner(slot),
  table.state(slot),
];

const rows = (table: IdTable): string[] => {
  const all: string[] = [];
  table.forEach((slot) => {
    all.push(row(table, slot).join());
  });
  return all.sort();
};

/** Most bytes that a table of this many ids may take. */
const allowance = (size: number): number => 32 * Math.max(16, 8 * size);

describe("a table of ids", () => {
  test("finds the ids that were added, and no others", () => {
    const table = new IdTable();
    const slot = table.add(7, 9);
    expect(table.find(7, 9)).toBe(slot);
    expect(row(table, slot)).toEqual([7, 9, 0, 0, 0, 0]);
    expect([table.find(9, 7), table.find(7, 0), table.find(0, 9), table.find(0, 0)]).toEqual([
      -1, -1, -1, -1,
    ]);
    expect(table.size).toBe(1);
  });

  test("keeps one entry per id, whose fields stay when it is added again", () => {
    const table = new IdTable();
    const slot = table.add(7, 9);
    table.setOwner(slot, -3);
    table.setState(slot, 2);
    expect(table.add(7, 9)).toBe(slot);
    expect(row(table, slot)).toEqual([7, 9, 0, 0, -3, 2]);
    expect(table.size).toBe(1);
  });

  test("says when the XOR of a slot is zero, for which both halves have to be", () => {
    const table = new IdTable();
    const slot = table.add(7, 9);
    expect(table.mix(slot, 5, 6)).toBe(false);
    expect(table.mix(slot, 5, 0)).toBe(false);
    expect([table.xorHi(slot), table.xorLo(slot)]).toEqual([0, 6]);
    expect(table.mix(slot, 5, 6)).toBe(false);
    expect([table.xorHi(slot), table.xorLo(slot)]).toEqual([5, 0]);
    expect(table.mix(slot, 5, 0)).toBe(true);
  });

  test("takes ids signed or unsigned, and gives them back signed", () => {
    const table = new IdTable();
    const slot = table.add(0xffff_ffff, 0x8000_0000);
    expect([table.hi(slot), table.lo(slot)]).toEqual([-1, -0x8000_0000]);
    expect(table.find(-1, -0x8000_0000)).toBe(slot);
    expect(table.find(0xffff_ffff, 0x8000_0000)).toBe(slot);
    expect(table.add(-1, 0x8000_0000)).toBe(slot);
  });

  test("refuses zero, which marks a free place", () => {
    const table = new IdTable();
    expect(() => table.add(0, 0)).toThrow(OptionError);
    expect(() => table.add(0, 0)).toThrow("id must be a 64-bit number other than zero; got 0");
    expect(table.size).toBe(0);
    expect(table.add(0, 1)).not.toBe(table.add(1, 0));
  });

  test("leaves nothing of an id that was removed", () => {
    const table = new IdTable();
    const slot = table.add(7, 9);
    table.mix(slot, 1, 2);
    table.setOwner(slot, 3);
    table.setState(slot, 4);
    table.remove(slot);
    expect(table.find(7, 9)).toBe(-1);
    expect(row(table, table.add(7, 9))).toEqual([7, 9, 0, 0, 0, 0]);
  });

  test("gives memory back when ids are removed", () => {
    const table = new IdTable();
    const empty = table.bytes;
    expect(empty).toBe(512);
    for (let lo = 1; lo <= 10_000; lo++) table.add(lo % 5, lo);
    expect(table.bytes).toBe(32 * 16_384);
    for (let lo = 1; lo <= 10_000; lo++) {
      table.remove(table.find(lo % 5, lo));
      expect(table.bytes).toBeLessThanOrEqual(allowance(table.size));
    }
    expect(table.bytes).toBe(empty);
  });

  test("does not change its memory to and fro when one id comes and goes", () => {
    const table = new IdTable();
    for (let lo = 1; lo <= 13; lo++) table.add(0, lo);
    const sizes = new Set<number>();
    for (let round = 0; round < 10; round++) {
      table.remove(table.find(0, 13));
      sizes.add(table.bytes);
      table.add(0, 13);
      sizes.add(table.bytes);
    }
    expect(sizes.size).toBe(1);
  });

  type Step = readonly [what: "add" | "remove" | "mix", hi: number, lo: number, value: number];
  const small = fc.integer({ min: -3, max: 3 });
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc
      .tuple(
        fc.constantFrom("add" as const, "add" as const, "remove" as const, "mix" as const),
        small,
        small,
        fc.integer(),
      )
      .filter(([, hi, lo]) => hi !== 0 || lo !== 0),
    { maxLength: 200, size: "max" },
  );

  check.prop([steps], { numRuns: sized(60, 1 / 50, 200) })(
    "holds the same as a Map, whatever is added and removed",
    (all) => {
      const table = new IdTable();
      const model = new Map<string, number[]>();
      for (const [what, hi, lo, value] of all) {
        const id = `${hi},${lo}`;
        const slot = table.find(hi, lo);
        const known = model.get(id);
        if (slot >= 0 !== (known !== undefined)) expect.fail(`${id} is in one of the two`);
        if (what === "add" && known === undefined) {
          const fresh = table.add(hi, lo);
          table.setOwner(fresh, value);
          table.setState(fresh, ~value);
          model.set(id, [hi, lo, 0, 0, value, ~value]);
        } else if (what === "remove" && known !== undefined) {
          table.remove(slot);
          model.delete(id);
        } else if (what === "mix" && known !== undefined) {
          known[2] = (known[2] as number) ^ value;
          known[3] = (known[3] as number) ^ (value >> 1);
          expect(table.mix(slot, value, value >> 1)).toBe(known[2] === 0 && known[3] === 0);
        }
        expect(table.size).toBe(model.size);
        expect(rows(table)).toEqual([...model.values()].map((fields) => fields.join()).sort());
      }
      // Each is found where a search looks for it, not only somewhere in the array.
      for (const [hi, lo] of model.values()) {
        expect(table.hi(table.find(hi as number, lo as number))).toBe(hi);
      }
    },
  );
});
