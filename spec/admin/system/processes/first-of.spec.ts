// The first N of many by a bounded heap: the same as sorting everything.

import fc from "fast-check";
import { expect, test } from "vitest";
import { FirstOf } from "../../../../lib/admin/system/processes/first-of.js";

/** The largest keys first, and the lowest numbers first among equal ones. */
const sorted = (keys: readonly number[], limit: number): number[] =>
  keys
    .map((key, i) => ({ key, id: keys.length - i }))
    .sort((a, b) => b.key - a.key || a.id - b.id)
    .slice(0, limit)
    .map(({ id }) => id);

test("the first processes are those that sorting all of them would give, the oldest first among equals [N1532]", () => {
  const key = fc.oneof(
    fc.constant(0),
    fc.constant(-0),
    fc.integer({ min: -3, max: 3 }),
    fc.double({ noNaN: true }),
  );
  fc.assert(
    fc.property(fc.array(key, { maxLength: 60 }), fc.integer({ min: 1, max: 12 }), (keys, limit) => {
      const first = new FirstOf(limit);
      const ids: number[] = [];
      for (const [i, one] of keys.entries()) {
        const id = keys.length - i;
        const slot = first.offer(one, id);
        expect(slot).toBeLessThan(2 * limit);
        if (slot >= 0) ids[slot] = id;
      }
      expect(first.order().map((slot) => ids[slot])).toEqual(sorted(keys, limit));
    }),
    { numRuns: 500 },
  );
});
