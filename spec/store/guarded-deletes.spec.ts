// Rows that are removed on the condition that their set expects, without a look before.

import * as fc from "fast-check";
import { System } from "signalbox";
import {
  ConflictError,
  defineTable,
  memory,
  openStore,
  pglite,
  type Schema,
  type Store,
  type StoreSource,
  type Write,
  type WriteSet,
} from "signalbox/store";
import { describe, expect, it } from "vitest";
import { guardedDeletes } from "../../lib/store/guarded-deletes.js";
import { needs } from "../../lib/store/needs.js";
import { sharedPglite } from "../support/pglite.js";

const seats = defineTable("guarded_seats", {
  columns: { hall: "text", seat: "integer", holder: "integer?", note: "payload?" },
  key: ["hall", "seat"],
});
const SCHEMA: Schema = { name: "guarded", version: 1, tables: [seats] };
const HERE = 1;

const put = (seat: number, holder: number | null = HERE): Write => ({
  ...{ type: "put", table: seats, row: { hall: "a", seat, holder, note: null } },
});
const at = (seat: number) => ({ table: seats, key: ["a", seat] });
/** Removes seats, if this holder has them. */
const leave = (of: readonly number[], holder: number | null = HERE): WriteSet => ({
  expect: of.map((seat) => ({ ...at(seat), is: { holder } })),
  writes: of.map((seat) => ({ type: "delete", ...at(seat), blind: true })),
});
const guardedOf = (sets: readonly WriteSet[]): number => guardedDeletes(sets).get(seats.name)?.size ?? 0;

/** Which of the sets of one group were committed; the others met a conflict. */
async function committed(store: Store, sets: readonly WriteSet[]): Promise<boolean[]> {
  const settled = await Promise.allSettled(sets.map((set) => store.commit(set)));
  for (const one of settled) if (one.status === "rejected") expect(one.reason).toBeInstanceOf(ConflictError);
  return settled.map(({ status }) => status === "fulfilled");
}

describe("rows that a set expects and removes", () => {
  for (const [name, place] of [
    ["memory", async (): Promise<StoreSource> => memory()],
    ["PGlite", async (): Promise<StoreSource> => pglite(await sharedPglite(), { schema: "guarded" })],
  ] as const)
    it(`are removed if all of them are as it expects, and none of them otherwise, whatever others do in its group: ${name} [Y713]`, async () => {
      const system = new System({ report: false });
      const store = await openStore(system, await place(), [SCHEMA]);
      await store.commit({ writes: [1, 2, 3, 4, 5, 6].map((seat) => put(seat, seat === 6 ? null : HERE)) });
      const sets: WriteSet[] = [
        { ...leave([1, 2]), writes: [...leave([1, 2]).writes, put(7, HERE + 1)] },
        leave([3, 4], HERE + 1),
        leave([5]),
        leave([6], null),
      ];
      expect(await committed(store, sets)).toEqual([true, false, true, true]);
      // One that is not there any more, one that never was, and one that two sets want to remove.
      const gone = [leave([1]), leave([8]), leave([7]), leave([3, 4]), leave([3])];
      expect(await committed(store, gone)).toEqual([false, false, false, true, false]);
      expect((await store.scan(seats, {})).map(({ seat }) => seat)).toEqual([7]);
      await store.commit({ writes: [{ type: "clear", table: seats, prefix: [] }] });
      await store.close();
      await system.stop();
    });

  it("leave the same rows and refuse the same sets as with a look, whatever a group does", async () => {
    const system = new System({ report: false });
    const looking = await openStore(system, memory(), [SCHEMA]);
    const guarding = await openStore(system, pglite(await sharedPglite(), { schema: "guarding" }), [SCHEMA]);
    const some = fc.uniqueArray(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 3 });
    const holder = fc.constantFrom(HERE, HERE + 1, null);
    const set: fc.Arbitrary<WriteSet> = fc.oneof(
      { weight: 3, arbitrary: fc.tuple(some, holder).map((of) => leave(...of)) },
      {
        weight: 2,
        arbitrary: fc.tuple(some, holder).map(([of, by]) => ({ writes: of.map((one) => put(one, by)) })),
      },
      {
        weight: 1,
        arbitrary: fc.tuple(some, holder, holder).map(([of, by, to]) => ({
          expect: of.map((seat) => ({ ...at(seat), is: { holder: by } })),
          writes: of.map((seat): Write => ({ type: "update", ...at(seat), set: { holder: to } })),
        })),
      },
    );
    const outcome = async (store: Store, sets: readonly WriteSet[]): Promise<unknown> => {
      const settled = await Promise.allSettled(sets.map((one) => store.commit(one)));
      const rows = await store.scan(seats, {});
      return [settled.map(({ status }) => status), rows.map((row) => [row.seat, row.holder])];
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(set, { minLength: 1, maxLength: 5 }), { maxLength: 5 }),
        async (groups) => {
          for (const sets of groups)
            expect(await outcome(guarding, sets)).toEqual(await outcome(looking, sets));
        },
      ),
      { numRuns: 25, seed: 713 },
    );
    await guarding.close();
    await looking.close();
    await system.stop();
  });

  it("need no look, unless another write or expectation of the group is about them", () => {
    expect(guardedOf([leave([1, 2]), leave([3])])).toBe(3);
    expect(needs([leave([1, 2])], guardedDeletes([leave([1, 2])])).tables).toEqual([]);
    expect(guardedOf([leave([1, 2]), leave([2])])).toBe(1);
    expect(guardedOf([leave([1]), { writes: [put(1)] }])).toBe(0);
    expect(guardedOf([{ ...leave([1]), writes: [...leave([1]).writes, put(1)] }])).toBe(0);
    expect(guardedOf([leave([1]), { expect: [{ ...at(1), is: "present" }], writes: [] }])).toBe(0);
    expect(guardedOf([leave([1]), { writes: [{ type: "clear", table: seats, prefix: ["a"] }] }])).toBe(0);
    expect(guardedOf([leave([1]), { expect: [{ table: seats, prefix: ["a"], rows: 1 }], writes: [] }])).toBe(
      0,
    );
    const later: Write = {
      type: "when",
      ...at(9),
      is: {},
      writes: [{ type: "update", ...at(1), set: { holder: 2 } }],
    };
    expect(guardedOf([leave([1]), { writes: [later] }])).toBe(0);
    // Nothing is expected.
    expect(guardedOf([{ writes: leave([1]).writes }])).toBe(0);
  });
});
