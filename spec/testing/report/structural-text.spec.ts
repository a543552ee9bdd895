// Equal texts for equal values, and for no others.

import { isDeepStrictEqual } from "node:util";
import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { NoTextError, structuralText } from "../../../lib/testing/report/structural-text.js";

describe("a structural text", () => {
  it.each<[string, unknown]>([
    ["1", 1],
    ["-0", -0],
    ["NaN", Number.NaN],
    ["12n", 12n],
    ['"a\\n"', "a\n"],
    ["undefined", undefined],
    ["null", null],
    ["true", true],
    ['[1,"a",-2]', [1, "a", -2]],
    ["[1,null,[undefined,-0,0.5]]", [1, null, [undefined, -0, 0.5]]],
    ["[-0]", [-0]],
    ["[NaN,0.5]", [Number.NaN, 0.5]],
    ['{a: {"c-d": []}, b: 1}', { b: 1, a: { "c-d": [] } }],
    [
      'Map {"b" => 1, {a: 1} => Set {2, 1}}',
      new Map<unknown, unknown>([
        ["b", 1],
        [{ a: 1 }, new Set([2, 1])],
      ]),
    ],
    ["{}", Object.create(null)],
  ])("is %s", (text, value) => {
    expect(structuralText(value, true)).toBe(text);
  });

  it("is the same whatever the order of keys, and not that of a Map or a Set", () => {
    expect(structuralText({ a: 1, b: 2 }, true)).toBe(structuralText({ b: 2, a: 1 }, true));
    expect(structuralText(new Set([1, 2]), true)).not.toBe(structuralText(new Set([2, 1]), true));
    expect(
      structuralText(
        new Map([
          [1, 0],
          [2, 0],
        ]),
        true,
      ),
    ).not.toBe(
      structuralText(
        new Map([
          [2, 0],
          [1, 0],
        ]),
        true,
      ),
    );
  });

  it("that need not be exact does not look at that order, nor at the sign of zero", () => {
    expect(structuralText(new Set([1, 2]), false)).toBe(structuralText(new Set([2, 1]), false));
    expect(
      structuralText(
        new Map([
          [1, 0],
          [2, 0],
        ]),
        false,
      ),
    ).toBe(
      structuralText(
        new Map([
          [2, 0],
          [1, 0],
        ]),
        false,
      ),
    );
    expect(structuralText([0, 1], false)).toBe(structuralText([-0, 1], false));
    expect(structuralText([2, 1], false)).not.toBe(structuralText([1, 2], false));
  });

  it("there is none for values with hidden parts", () => {
    class Account {
      readonly balance = 1;
    }
    class Cache extends Map<string, number> {}
    const cycle: unknown[] = [];
    cycle.push({ cycle });
    for (const [value, why] of [
      [new Account(), "is an instance of a class"],
      [new Cache(), "is an instance of a class"],
      [new Error("x"), "is an instance of a class"],
      [() => 1, "has no contents to compare"],
      [Symbol("x"), "has no contents to compare"],
      [{ [Symbol("x")]: 1 }, "has symbols as keys"],
      [new Array(2), "has holes"],
      [cycle, "contains itself, or nests more than 500 levels deep"],
    ] as const) {
      expect(() => structuralText(value, true), why).toThrow(NoTextError);
      expect(() => structuralText({ a: [value] }, true), why).toThrow(why);
    }
  });

  it("is there of lists that nest deep", () => {
    let list: unknown = null;
    for (let i = 0; i < 500; i++) list = { i, list };
    expect(structuralText(list, true)).toContain("{i: 499, list: {i: 498,");
  });

  const few = fc.constantFrom<unknown>(0, -0, 1, "1", "", "a", true, null, undefined, Number.NaN, 1n, 1.5);
  const value = fc.anything({ withMap: true, withSet: true, maxDepth: 3, maxKeys: 3, values: [few] });

  test.prop([
    fc.oneof(
      fc.tuple(value, value),
      value.map((one) => [one, structuredClone(one)]),
    ),
  ])("is one only for values that are equal, and the same for all that are", ([a, b]) => {
    const one = structuralText(a, true) === structuralText(b, true);
    const loosely = structuralText(a, false) === structuralText(b, false);
    const equal = isDeepStrictEqual(a, b);
    // The host's equality does not look at the order in Maps and Sets, and does at the sign of zero.
    expect([one && !equal, equal && !loosely, one && !loosely]).toEqual([false, false, false]);
  });
});
