// Differences of JSON values: what is applied is exactly what was compared.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../../lib/admin/json-view.js";
import { applied, difference, type Patch } from "../../../lib/observer/feed/difference.js";

const text = (value: unknown): string => JSON.stringify(value);
/** As it is on the wire. */
const sent = (patch: Patch): Patch => JSON.parse(text(patch));
const changed = (before: Json, after: Json, most?: number): Json => {
  const patch = difference(before, after, most);
  return patch === undefined ? before : applied(before, sent(patch));
};

/** Keys are few, so that values share some of them, and hostile. */
const key = fc.constantFrom(
  "pid",
  "id",
  "name",
  "place",
  "depth",
  "__proto__",
  "constructor",
  "7",
  "",
  "toString",
);
const scalar = fc.oneof(
  fc.integer({ min: 0, max: 5 }),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom("a", "b", "<img onerror=alert(1)>", "__proto__", ""),
);
const pairs = (value: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc
    .uniqueArray(fc.tuple(key, value), { selector: ([name]) => name, maxLength: 6 })
    .map((entries) => Object.fromEntries(entries) as Json);
/** Lists of items with names, as operations give them. */
const named = (value: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
  fc
    .tuple(
      fc.constantFrom("pid", "id", "key", "name", "number", "place"),
      fc.uniqueArray(fc.tuple(fc.integer({ min: 0, max: 12 }), value), {
        selector: ([id]) => id,
        maxLength: 8,
      }),
    )
    .map(([name, items]) => items.map(([id, depth]) => ({ [name]: id, depth })) as Json);
const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    pairs(tie("json")),
    fc.array(tie("json"), { maxLength: 6 }),
    named(tie("json")),
  ),
}));

describe("a difference", () => {
  it("applied to the value before is exactly the value after, with its order [N1560]", () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        expect(text(changed(before, after))).toBe(text(after));
      }),
      { numRuns: 2_000 },
    );
  });

  it("is none between equal values, and some between others [N1560]", () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        expect(difference(before, JSON.parse(text(before)))).toBeUndefined();
        expect(difference(before, after) === undefined).toBe(text(before) === text(after));
      }),
      { numRuns: 2_000 },
    );
  });

  it("leaves the value before as it was [N1560]", () => {
    fc.assert(
      fc.property(json, json, (before, after) => {
        const was = text(before);
        changed(before, after);
        expect(text(before)).toBe(was);
      }),
    );
  });

  it("from any whole on, all later changes give the latest value [N1560]", () => {
    fc.assert(
      fc.property(fc.array(json, { minLength: 1, maxLength: 12 }), fc.nat(), (values, cut) => {
        const patches = values.slice(1).map((value, i) => difference(values[i] as Json, value));
        const from = cut % values.length;
        let page = JSON.parse(text(values[from])) as Json;
        for (const patch of patches.slice(from)) if (patch !== undefined) page = applied(page, sent(patch));
        expect(text(page)).toBe(text(values.at(-1)));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is as right when only some values may be compared [N1562]", () => {
    fc.assert(
      fc.property(json, json, fc.integer({ min: 0, max: 12 }), (before, after, most) => {
        expect(text(changed(before, after, most))).toBe(text(after));
      }),
      { numRuns: 1_000 },
    );
  });

  it("compares no more values than it may [N1562]", () => {
    const wide = Array.from({ length: 1_000 }, (_, pid) => ({ pid, depth: 0 }));
    const later = wide.map((one) => ({ ...one, depth: 1 }));
    const patch = difference(wide, later, 500) as Extract<Patch, readonly ["l", ...unknown[]]>;
    const compared = patch[2].filter(([, one]) => one[0] !== "=").length;
    expect(compared).toBeLessThan(500);
    expect(text(applied(wide, patch))).toBe(text(later));
  });
});

describe("the size of a difference", () => {
  const rows = Array.from({ length: 500 }, (_, i) => ({ pid: `shop.${i}`, label: `clerk ${i}`, depth: i }));
  const size = (before: Json, after: Json): number => text(difference(before, after)).length;

  it("is a few numbers when named items are sorted anew [N1562]", () => {
    expect(size(rows, [...rows.slice(250), ...rows.slice(0, 250)])).toBeLessThan(40);
    expect(size(rows, [...rows].reverse())).toBeLessThan(text(rows).length / 4);
  });

  it("is that of what has changed, wherever that is [N1562]", () => {
    expect(
      size(
        rows,
        rows.filter((_, i) => i !== 100),
      ),
    ).toBeLessThan(40);
    const one = rows.map((row, i) => (i === 250 ? { ...row, depth: 9 } : row));
    expect(size(rows, one)).toBeLessThan(60);
    expect(size(rows, [{ pid: "shop.900", label: "new", depth: 1 }, ...rows])).toBeLessThan(80);
  });

  it("is that of the change when names are shared, and places tell the items apart [N1562]", () => {
    const tasks = Array.from({ length: 200 }, (_, i) => ({ name: "bolt", place: i + 1, executed: i }));
    expect(
      size(
        tasks,
        tasks.filter((_, i) => i !== 100),
      ),
    ).toBeLessThan(40);
  });

  it("is that of the change when items have no names [N1562]", () => {
    const lines = Array.from({ length: 500 }, (_, i) => `line ${i}`);
    expect(size(lines, ["line -1", ...lines])).toBeLessThan(40);
    expect(size(lines, lines.slice(1))).toBeLessThan(40);
    expect(size(lines, lines.with(250, "other"))).toBeLessThan(40);
  });
});

it("a patch for another value is refused, and changes nothing [N1560]", () => {
  const patch = difference([{ pid: 1 }, { pid: 2 }], [{ pid: 2 }]) as Patch;
  expect(() => applied([{ pid: 1 }], patch)).toThrow(TypeError);
  expect(() => applied({ pid: 1 }, patch)).toThrow(TypeError);
  expect(() => applied("text", ["o", [], []])).toThrow(TypeError);
});
