// The table of open calls, against a Map.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CallTable, TableEntry } from "../../lib/process/call-table.js";
import { Request } from "../../lib/process/request.js";

class Entry extends TableEntry {}

type Step = readonly [op: "add" | "delete", ref: number];
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom("add" as const, "add" as const, "delete" as const),
  // Numbers that share a bucket, and numbers beyond 32 bits.
  fc.oneof(fc.nat(80), fc.constantFrom(2 ** 32, 2 ** 32 + 1, 2 ** 40, Number.MAX_SAFE_INTEGER)),
);

describe("the table of open calls", () => {
  test("finds what a Map finds, and lists it in the same order", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: "max" }), (steps) => {
        const table = new CallTable<Entry>();
        const model = new Map<number, Entry>();
        for (const [op, ref] of steps) {
          const known = model.get(ref);
          if (op === "delete" && known !== undefined) {
            model.delete(ref);
            expect([table.delete(known), table.delete(known)]).toEqual([true, false]);
          } else if (op === "add" && known === undefined) {
            const entry = new Entry(ref, new Request());
            model.set(ref, entry);
            table.add(entry);
          }
          expect(table.get(ref)).toBe(model.get(ref));
          expect([table.size, table.first]).toEqual([model.size, [...model.values()][0]]);
        }
        const listed: number[] = [];
        for (let entry = table.first; entry !== undefined; entry = table.first) {
          listed.push(entry.ref);
          table.delete(entry);
        }
        expect(listed).toEqual([...model.keys()]);
      }),
    );
  });
});
