// Predicates over payload fields and consumer tags: data, with a missing field always false.

import fc from "fast-check";
import { match, type Predicate } from "signalbox";
import { describe, expect, it } from "vitest";
import { envelopeOf, view } from "./support.js";

const { and, checkPredicate, compare, evaluate, exists, not, or, payload, range, tag } = match;

const order = { item: "tea", n: 3, to: { region: "north", floors: [1, 2] }, note: null };
const ann = view("ann", { tags: { region: "north", size: 3, night: false } });
const holds = (predicate: Predicate, of: unknown = order): boolean =>
  evaluate(predicate, envelopeOf(of), ann);

const comparison = fc.constantFrom("eq", "ne", "lt", "le", "gt", "ge");
const operand = fc.constantFrom(
  payload("item"),
  payload("n"),
  payload("to.region"),
  payload("nothing"),
  payload("to.floors.1"),
  tag("size"),
  tag("nothing"),
  { value: 3 },
  { value: "tea" },
);
const { predicate } = fc.letrec<{ predicate: Predicate }>((tie) => ({
  predicate: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.tuple(operand, comparison, operand).map(([left, op, right]) => compare(left, op, right)),
    operand.map(exists),
    fc
      .tuple(operand, fc.constantFrom<[number | string, number | string]>([0, 9], [4, 9], ["s", "u"]))
      .map(([of, [from, to]]) => range(of, from, to)),
    fc.array(tie("predicate"), { maxLength: 3 }).map((of) => and(...of)),
    fc.array(tie("predicate"), { maxLength: 3 }).map((of) => or(...of)),
    tie("predicate").map(not),
  ),
}));

describe("a predicate", () => {
  it("compares fields of the payload, tags of the consumer and values", () => {
    expect(holds(compare(payload("to.region"), "eq", tag("region")))).toBe(true);
    expect(holds(compare(payload("n"), "ge", 3))).toBe(true);
    expect(holds(compare(payload("n"), "lt", tag("size")))).toBe(false);
    expect(holds(compare("sugar", "lt", payload("item")))).toBe(true);
    expect(holds(compare(tag("night"), "eq", false))).toBe(true);
  });

  it("finds elements of an array by index", () => {
    expect(holds(compare(payload("to.floors.1"), "eq", 2))).toBe(true);
    expect(holds(exists(payload("to.floors.2")))).toBe(false);
  });

  it("is false for a missing field, whatever it is compared with", () => {
    for (const op of ["eq", "ne", "lt", "le", "gt", "ge"] as const) {
      expect(holds(compare(payload("nothing"), op, 3))).toBe(false);
      expect(holds(compare(3, op, tag("nothing")))).toBe(false);
    }
    expect(holds(range(payload("nothing"), 0, 9))).toBe(false);
    expect(holds(exists(payload("nothing")))).toBe(false);
  });

  it("treats null and inherited fields as missing", () => {
    expect(holds(exists(payload("note")))).toBe(false);
    expect(holds(exists(payload("toString")))).toBe(false);
    expect(holds(exists(tag("toString")))).toBe(false);
  });

  it("is false for a payload without fields", () => {
    for (const of of [undefined, null, 3, "tea"]) expect(holds(exists(payload("length")), of)).toBe(false);
  });

  it("neither orders nor equals values of different types", () => {
    expect(holds(compare(payload("n"), "eq", "3"))).toBe(false);
    expect(holds(compare(payload("n"), "lt", "4"))).toBe(false);
    expect(holds(compare(payload("n"), "ne", "3"))).toBe(true);
    expect(holds(compare(tag("night"), "lt", true))).toBe(false);
  });

  it("has ranges of numbers or strings, both ends included", () => {
    expect([2, 3, 4].map((n) => holds(range(payload("n"), 3, 4), { n }))).toEqual([false, true, true]);
    expect(holds(range(payload("item"), "tea", "tea"))).toBe(true);
    expect(holds(range(payload("n"), "1", "9"))).toBe(false);
  });

  it("of an empty list is true for `and`, false for `or`", () => {
    expect(holds(and())).toBe(true);
    expect(holds(or())).toBe(false);
  });

  it("obeys the laws of and, or and not", () => {
    fc.assert(
      fc.property(predicate, predicate, (a, b) => {
        const [x, y] = [holds(a), holds(b)];
        expect(holds(and(a, b))).toBe(x && y);
        expect(holds(or(a, b))).toBe(x || y);
        expect(holds(not(a))).toBe(!x);
        expect(holds(not(and(a, b)))).toBe(holds(or(not(a), not(b))));
      }),
    );
  });

  it("is the same after it was sent as JSON", () => {
    fc.assert(
      fc.property(predicate, (one) => {
        const arrived = JSON.parse(JSON.stringify(one)) as Predicate;
        checkPredicate("arrived", arrived);
        expect(holds(arrived)).toBe(holds(one));
      }),
    );
  });
});

describe("a predicate from outside the program", () => {
  it.each<[string, unknown]>([
    ["p", undefined],
    ["p", { op: "like", left: { value: 1 }, right: { value: 1 } }],
    ["p.left", { op: "eq", right: { value: 1 } }],
    ["p.right", { op: "eq", left: { tag: "a" }, right: 3 }],
    ["p.of", { op: "and", of: { op: "exists", of: { tag: "a" } } }],
    [
      "p.of[1].of",
      {
        op: "or",
        of: [
          { op: "exists", of: { tag: "a" } },
          { op: "exists", of: { tag: 1 } },
        ],
      },
    ],
    ["p.of", { op: "not" }],
    ["p.of", { op: "exists", of: { payload: "a.b" } }],
    ["p.to", { op: "range", of: { tag: "a" }, from: 1 }],
  ])("is refused at %s", (path, given) => {
    expect(() => checkPredicate("p", given)).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
  });
});
