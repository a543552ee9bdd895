// How a message looks in a trace: what each kind of value shows, and what is never done to it.

import { runInThisContext } from "node:vm";
import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { OptionError, Pid, ReceiveBusyError, System } from "../../../lib/index.js";
import { brief, cut, printable } from "../../../lib/testing/report/brief.js";

const node = { name: "shop", id: "1" };
const INSPECT = Symbol.for("nodejs.util.inspect.custom");
const clerk = new Pid(node, 17, "clerk", undefined);

class Order {
  readonly item: string;
  readonly n: number;
  constructor(item: string, n: number) {
    this.item = item;
    this.n = n;
  }
}

describe("plain data looks as in source text", () => {
  it.each<[string, unknown]>([
    ['"tea"', "tea"],
    ['""', ""],
    ['"say \\"hi\\" \\\\ twice"', 'say "hi" \\ twice'],
    ['"two\\nlines\\tand\\ra bell\\u{7}"', "two\nlines\tand\ra bell\u0007"],
    ["1.5", 1.5],
    ["-0", -0],
    ["NaN", Number.NaN],
    ["12n", 12n],
    ["-12n", -12n],
    ["true", true],
    ["null", null],
    ["undefined", undefined],
    ["[1, [2], []]", [1, [2], []]],
    ["{}", {}],
    ['{type: "take", n: 2}', { type: "take", n: 2 }],
    ['{$a_1: 1, "b c": 2, "": 3, "1x": 4}', { $a_1: 1, "b c": 2, "": 3, "1x": 4 }],
    ["{nested: {deep: [undefined]}}", { nested: { deep: [undefined] } }],
    ["{a: 1}", Object.assign(Object.create(null), { a: 1 })],
  ])("%s", (text, value) => {
    expect(brief(value)).toBe(text);
  });

  const leaf = fc.oneof(
    fc.string({ unit: "binary", maxLength: 8 }),
    fc.double(),
    fc.integer(),
    fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
    fc.boolean(),
    fc.constantFrom(null, undefined),
  );
  const key = fc.string({ unit: "binary", maxLength: 4 }).filter((name) => name !== "__proto__");
  const tree = fc.letrec<{ one: unknown; two: unknown; three: unknown }>((tie) => {
    const level = (inner: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
      fc.oneof(
        leaf,
        fc.array(inner, { maxLength: 5 }),
        fc.dictionary(key, inner, { maxKeys: 5, noNullPrototype: true }),
      );
    return { one: level(leaf), two: level(tie("one")), three: level(tie("two")) };
  });
  property.prop([tree.three])("and, within the limits, is source text that gives the same value", (value) => {
    expect(runInThisContext(`(${brief(value, { most: 1_000_000 })})`)).toEqual(value);
  });
});

describe("other values show their type", () => {
  const named = function picker(): void {};
  it.each<[string, unknown, string]>([
    ["an instance has its class", new Order("tea", 2), 'Order {item: "tea", n: 2}'],
    ["one without state too", new (class Empty {})(), "Empty {}"],
    ["one of a class without name", new (class {})(), "(anonymous) {}"],
    ["what it inherits is not shown", Object.create({ hidden: 1 }), "{}"],
    ["an Error is its name and message", new RangeError("too\nmuch"), "RangeError: too\\nmuch"],
    ["an Error without message", new Error(""), "Error"],
    [
      "an Error of a class without a name of its own",
      new (class PickError extends Error {})("gone"),
      "PickError: gone",
    ],
    [
      "one of ours, whose name is a getter",
      new ReceiveBusyError(clerk),
      "ReceiveBusyError: <shop.17 clerk> already waits in a receiv…",
    ],
    ["an Error that was renamed", Object.assign(new Error("gone"), { name: "Lost" }), "Lost: gone"],
    ["a function", named, "ƒ picker"],
    ["a function without name", (() => () => {})(), "ƒ (anonymous)"],
    ["a class", Order, "ƒ Order"],
    ["a symbol", Symbol("key"), "Symbol(key)"],
    ["a symbol without description", Symbol(), "Symbol()"],
    [
      "a Map",
      new Map<unknown, unknown>([
        ["a", 1],
        [{ k: 1 }, [2]],
      ]),
      'Map(2) {"a" => 1, {k: 1} => [2]}',
    ],
    ["a Set", new Set([1, "b"]), 'Set(2) {1, "b"}'],
    ["an array of a class", new (class Batch extends Array<number> {})(1, 2), "Batch(2) [1, 2]"],
    ["bytes", new Uint8Array([1, 2, 255]), "Uint8Array(3) [1, 2, 255]"],
    ["bigints in an array", new BigInt64Array([1n]), "BigInt64Array(1) [1n]"],
    ["a view", new DataView(new ArrayBuffer(8)), "DataView {}"],
    ["a Date", new Date(0), "Date 1970-01-01T00:00:00.000Z"],
    ["a Date that is none", new Date(Number.NaN), "Date (invalid)"],
    ["what only looks like a Date", Object.create(Date.prototype), "Date {}"],
    ["a promise", Promise.resolve(1), "Promise {}"],
    [
      "a getter",
      {
        get total(): number {
          return 1;
        },
        n: 1,
      },
      "{total: (getter), n: 1}",
    ],
    ["holes of an array", Object.assign(new Array(3), { 0: 1, 2: 3 }), "[1, (hole), 3]"],
    ["an Error in a message", { error: new Error("gone") }, "{error: Error: gone}"],
  ])("%s", (_, value, text) => {
    expect(brief(value)).toBe(text);
  });

  it("a pid is called by its path, by its own text where there is none", async () => {
    const nameOf = (pid: Pid): string | undefined => (pid.id === 17 ? "shop/clerk" : undefined);
    const other = new Pid(node, 18, undefined, undefined);
    expect(brief({ from: clerk, to: [other] }, { nameOf })).toBe("{from: shop/clerk, to: [<shop.18>]}");
    expect(brief(clerk)).toBe("<shop.17 clerk>");
    await using system = new System({ name: "shop" });
    const live = system.spawn({ handle: () => undefined }, { label: "till" });
    expect(brief({ replyTo: live })).toBe(`{replyTo: ${live}}`);
  });

  it("a path stays on its line too", () => {
    expect(brief([clerk], { nameOf: () => "a\nb" })).toBe("[a\\nb]");
  });
});

describe("it is brief", () => {
  it("five entries, three levels", () => {
    expect(brief([1, 2, 3, 4, 5])).toBe("[1, 2, 3, 4, 5]");
    expect(brief([1, 2, 3, 4, 5, 6, 7])).toBe("[1, 2, 3, 4, 5, … 2 more]");
    expect(brief({ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 })).toBe("{a: 1, b: 2, c: 3, d: 4, e: 5, … 1 more}");
    expect(brief(new Set([1, 2, 3, 4, 5, 6]))).toBe("Set(6) {1, 2, 3, 4, 5, … 1 more}");
    expect(brief(new Map([1, 2, 3, 4, 5, 6].map((n) => [n, n])))).toBe(
      "Map(6) {1 => 1, 2 => 2, 3 => 3, 4 => 4, 5 => 5, … 1 more}",
    );
    expect(brief([[[1]]])).toBe("[[[1]]]");
    expect(brief([[[[1], [], { a: 1 }, {}, new Order("tea", 1)]]])).toBe("[[[[…], [], {…}, {}, Order {…}]]]");
  });

  it("sixty characters, or as many as are asked for", () => {
    expect(brief("x".repeat(58))).toBe(`"${"x".repeat(58)}"`);
    expect(brief("x".repeat(59))).toBe(`"${"x".repeat(58)}…`);
    expect(brief({ type: "take", items: ["tea", "milk"] }, { most: 20 })).toBe('{type: "take", item…');
    expect(brief("tea", { most: 5 })).toBe('"tea"');
    expect(brief("teas", { most: 5 })).toBe('"tea…');
    expect(brief(123_456, { most: 1 })).toBe("…");
  });

  it("a text within a message leaves room for the rest", () => {
    const uuid = "123e4567-e89b-42d3-a456-426614174000";
    expect(brief({ id: uuid, n: 1 })).toBe(`{id: "${uuid}", n: 1}`);
    expect(brief({ id: `${uuid}!`, n: 1 })).toBe(`{id: "${uuid}"…, n: 1}`);
    expect(brief({ [`${uuid}!`]: 1 })).toBe(`{"${uuid}"…: 1}`);
    expect(brief({ ["x".repeat(36)]: 1 })).toBe(`{${"x".repeat(36)}: 1}`);
    expect(brief({ ["x".repeat(37)]: 1 })).toBe(`{"${"x".repeat(36)}"…: 1}`);
  });

  it("a pair of surrogates is not cut in two", () => {
    expect(brief("😀😀😀", { most: 5 })).toBe('"😀…');
    expect(brief("😀😀😀", { most: 4 })).toBe('"😀…');
    expect(brief([`${"x".repeat(35)}😀`])).toBe(`["${"x".repeat(35)}"…]`);
    expect(brief([`${"x".repeat(35)}\ud83d`])).toBe(`["${"x".repeat(35)}\\u{d83d}"]`);
    expect(cut("a😀b", 3)).toBe("a…");
    expect(cut("a😀", 3)).toBe("a😀");
  });

  it("escapes invisible characters, and half a surrogate pair", () => {
    expect(printable("a\u202eb\u2028c\ud800d\u{e0001}")).toBe("a\\u{202e}b\\u{2028}c\\u{d800}d\\u{e0001}");
    expect(printable("Grüße 😀 / 日本")).toBe("Grüße 😀 / 日本");
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("%d characters are refused", (most) => {
    expect(() => brief("tea", { most })).toThrow(OptionError);
  });
});

describe("it survives", () => {
  it("cycles; an object that occurs twice is not a cycle", () => {
    const order = { n: 1, self: [] as unknown[] };
    order.self.push(order);
    expect(brief(order)).toBe("{n: 1, self: [(cycle)]}");
    const map = new Map<unknown, unknown>();
    map.set(map, [map]);
    expect(brief(map)).toBe("Map(1) {(cycle) => [(cycle)]}");
    const tea = { n: 1 };
    expect(brief([tea, tea])).toBe("[{n: 1}, {n: 1}]");
  });

  it("proxies that throw, are revoked, or have no last prototype", () => {
    const angry = new Proxy(
      {},
      { get: fail, getPrototypeOf: fail, ownKeys: fail, getOwnPropertyDescriptor: fail, has: fail },
    );
    const angryFunction = new Proxy(() => undefined, { getOwnPropertyDescriptor: fail, apply: fail });
    const { proxy, revoke } = Proxy.revocable([1], {});
    revoke();
    const endless: object = new Proxy({}, { getPrototypeOf: () => endless });
    expect(brief([angry, angryFunction, proxy])).toBe("[(unreadable), (unreadable), (unreadable)]");
    expect(brief(endless)).toBe("(anonymous) {}");
    expect(brief(new Proxy({ a: 1 }, { get: fail }))).toBe("{a: 1}");
    expect(brief(new Proxy(new Map([[1, 2]]), {}))).toBe("(unreadable)");
  });

  it("a value that pretends to be of another type", () => {
    expect(brief(Object.create(Map.prototype))).toBe("(unreadable)");
    expect(brief(Object.create(Pid.prototype))).toBe("(unreadable)");
    expect(brief(Object.assign(new Order("a", 1), { constructor: { name: "Other" } }))).toBe(
      'Order {item: "a", n: 1, constructor: {name: "Other"}}',
    );
  });

  it("the huge", () => {
    const huge = 1_000_000;
    expect(brief(new Array(4_000_000_000))).toBe(
      "[(hole), (hole), (hole), (hole), (hole), … 3999999995 more]",
    );
    expect(brief(new Uint8Array(huge))).toBe("Uint8Array(1000000) [0, 0, 0, 0, 0, … 999995 more]");
    expect(brief(10n ** 80n)).toBe("(huge bigint)");
    expect(brief(-(10n ** 80n))).toBe("(huge bigint)");
    expect(brief(10n ** 80n - 1n, { most: 100 })).toBe(`${"9".repeat(80)}n`);
    expect(brief(Symbol("x".repeat(huge)))).toBe(`Symbol(${"x".repeat(52)}…`);
    expect(brief(new Error("x".repeat(huge)))).toBe(`Error: ${"x".repeat(52)}…`);
    let reads = 0;
    const counted = (): object => new Proxy(Array.from({ length: 99 }, counting), {});
    const counting = (): object =>
      new Proxy([7, 7, 7, 7, 7, 7, 7], {
        getOwnPropertyDescriptor: (target, key) => {
          reads++;
          return Reflect.getOwnPropertyDescriptor(target, key);
        },
      });
    brief(Array.from({ length: 99 }, counted));
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(100);
  });

  property.prop([
    fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    }),
    fc.integer({ min: 1, max: 90 }),
  ])("anything: one line, no longer than asked for, the same each time", (value, most) => {
    const text = brief(value, { most });
    expect(text.length).toBeLessThanOrEqual(most);
    expect(text).not.toBe("");
    expect(text).toBe(printable(text));
    expect(brief(value, { most })).toBe(text);
  });
});

describe("none of the message's own code runs", () => {
  const asked = ["constructor", "name", "message", "size", "length", Symbol.toStringTag, Symbol.iterator];
  const called = ["toJSON", "toString", "valueOf", "entries", "values", "next", Symbol.toPrimitive, INSPECT];
  /** Inherits from `prototype`, but for what throws when it is read or called. */
  const trapped = (prototype: object): object => {
    const traps = Object.create(prototype);
    for (const key of asked) Object.defineProperty(traps, key, { get: fail });
    for (const key of called) Object.defineProperty(traps, key, { value: fail });
    return traps;
  };

  it.each<[string, object]>([
    ["(anonymous) {a: 1}", { a: 1 }],
    ["(anonymous)(1) [1]", [1]],
    ["(anonymous)(1) {1 => 2}", new Map([[1, 2]])],
    ["(anonymous)(1) {1}", new Set([1])],
    ["(anonymous)(1) [0]", new Uint8Array(1)],
    ["Date 1970-01-01T00:00:00.000Z", new Date(0)],
    ["(anonymous): gone", new Error("gone")],
    ["<shop.17 clerk>", new Pid(node, 17, "clerk", undefined)],
    ["ƒ (anonymous)", () => undefined],
  ])("nothing that it inherits is called or got: %s", (text, value) => {
    expect(brief(Object.setPrototypeOf(value, trapped(Object.getPrototypeOf(value))))).toBe(text);
  });

  it("nor own accessors", () => {
    const own = {
      toJSON: fail,
      toString: fail,
      valueOf: fail,
      toISOString: fail,
      [Symbol.toPrimitive]: fail,
    };
    expect(brief(own)).toBe("{toJSON: ƒ fail, toString: ƒ fail, valueOf: ƒ fail, toISOSt…");
    const Shop = Object.defineProperty(class {}, "name", { get: fail });
    expect(brief([Shop, new Shop()])).toBe("[ƒ (anonymous), (anonymous) {}]");
  });

  it("a method that was bound, or carries the name, is none of the host's", () => {
    const bound = Date.prototype.toISOString.bind(new Date(0));
    let called = false;
    const spoof = {
      toISOString: (): string => {
        called = true;
        return "no";
      },
    };
    expect(brief(Object.create(spoof))).toBe("{}");
    expect(brief(Object.create({ toISOString: bound }))).toBe("{}");
    expect(called).toBe(false);
  });
});

function fail(): never {
  throw new Error("was called");
}
