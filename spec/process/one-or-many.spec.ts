// The set that costs nothing while it is empty, against a Set.

import fc from "fast-check";
import { expect, test } from "vitest";
import { exclude, include, includes, members, type OneOrMany } from "../../lib/process/one-or-many.js";

test("behaves as a Set, in the order of arrival", () => {
  const things = Array.from({ length: 5 }, (_, id) => ({ id }));
  fc.assert(
    fc.property(fc.array(fc.record({ add: fc.boolean(), at: fc.nat(4) }), { maxLength: 60 }), (steps) => {
      let set: OneOrMany<{ id: number }>;
      const model = new Set<{ id: number }>();
      for (const { add, at } of steps) {
        const thing = things[at] as { id: number };
        if (add) {
          set = include(set, thing);
          model.add(thing);
        } else {
          set = exclude(set, thing);
          model.delete(thing);
        }
        expect(members(set)).toEqual([...model]);
        for (const one of things) expect(includes(set, one)).toBe(model.has(one));
        if (model.size === 0) expect(set).toBeUndefined();
      }
    }),
  );
});

test("uses no Set for a single member", () => {
  const thing = { id: 1 };
  expect(include(undefined, thing)).toBe(thing);
  expect(include(thing, thing)).toBe(thing);
});

test("allows changes while the members are iterated", () => {
  const things = Array.from({ length: 3 }, (_, id) => ({ id }));
  let set: OneOrMany<{ id: number }>;
  for (const thing of things) set = include(set, thing);
  const seen: number[] = [];
  for (const thing of members(set)) {
    seen.push(thing.id);
    for (const other of things) set = exclude(set, other);
  }
  expect(seen).toEqual([0, 1, 2]);
  expect(set).toBeUndefined();
});
