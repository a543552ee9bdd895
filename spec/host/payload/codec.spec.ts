// Values come back as they were, or are refused with the path to what cannot be stored.

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { CallTimeoutError } from "signalbox";
import { describe, expect, test } from "vitest";
import { jsonCodec, type PayloadCodec } from "../../../lib/host/payload/codec.js";
import { UnstorableValueError } from "../../../lib/host/payload/errors.js";
import { sized } from "../../support/proof.js";
import { refusal, sameGraph } from "./support.js";

const codec = jsonCodec();
const copyOf = <T>(value: T, by: PayloadCodec = codec): T => by.decode(by.encode(value) as string) as T;

interface Circle {
  readonly one: object;
  readonly two: readonly object[];
  readonly map: Map<object, object>;
  self?: Circle;
}

class Declined extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(`declined: ${reason}`);
    this.reason = reason;
  }
}

describe("a value", () => {
  const everything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withObjectString: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withUnicodeString: true,
  });

  test("of any shape comes back the same [J41]", () => {
    fc.assert(
      fc.property(everything, (value) => {
        // On Node 20 no invalid Date equals another.
        fc.pre(!codec.encode(value).includes('["Date",""]'));
        const back = copyOf(value);
        expect(isDeepStrictEqual(back, value)).toBe(true);
        expect(sameGraph(back, value)).toBe(true);
      }),
      { numRuns: sized(300, 1, 1_000) },
    );
  });

  test("that is plain JSON is stored as JSON, and only such a one [J41]", () => {
    fc.assert(
      fc.property(everything, (value) => {
        const text = codec.encode(value);
        const json = !/^[~!]/.test(text);
        if (json) expect(text).toBe(JSON.stringify(value));
        if (json) expect(isDeepStrictEqual(JSON.parse(text), value)).toBe(true);
        if (json) expect(sameGraph(JSON.parse(text), value)).toBe(true);
      }),
      { numRuns: sized(150, 1, 500) },
    );
    expect(codec.encode({ id: "a", lines: [{ count: 3 }], note: null })).toBe(
      '{"id":"a","lines":[{"count":3}],"note":null}',
    );
  });
});

describe("objects that JSON would change", () => {
  class Point {
    readonly x = 1;
  }
  const at = new Date(1_700_000_000_000);
  const bytes = new Uint8Array([1, 2, 3, 255]);
  // biome-ignore lint/suspicious/noSparseArray: holes are kept
  const sparse = [1, , 3];

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["-0", -0],
    ["NaN and infinities", [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]],
    ["a bigint", 10n ** 40n],
    ["a Date", { at }],
    [
      "Maps and Sets",
      new Map<unknown, unknown>([
        ["a", new Set([1, at])],
        [{ key: 1 }, null],
      ]),
    ],
    [
      "typed arrays",
      [bytes, new Float64Array([-0, Number.NaN]), new BigInt64Array([5n]), bytes.subarray(1, 2)],
    ],
    ["an ArrayBuffer and a view", [bytes.buffer, new DataView(bytes.buffer, 1, 2)]],
    ["a Buffer", Buffer.from("pooled")],
    ["a URL and its parameters", [new URL("https://example.com/a?b=c"), new URLSearchParams("a=1&a=2")]],
    ["a RegExp", /a+"\//giu],
    ["boxed values", [Object("a"), Object(1), Object(-0), Object(true), Object(5n)]],
    ["a sparse array", sparse],
    ["a very sparse array", Object.assign([], { length: 4_000_000_000 })],
    ["an object without a prototype", Object.assign(Object.create(null), { a: undefined })],
    ["undefined members", { a: undefined, b: [undefined] }],
    ["half of a surrogate pair", ["\ud800", "\0", "\u2028"]],
    ["a text that looks like a mark", ["~", "!", "#x:", "@1.2.3"]],
    ["-1 as JSON, not as devalue", [-1, -2]],
  ])("come back: %s [J41]", (_, value) => {
    const back = copyOf(value);
    expect(isDeepStrictEqual(back, value)).toBe(true);
    expect(Object.is(back, value) || typeof value === "object").toBe(true);
  });

  test("and an invalid Date stays invalid [J41]", () => {
    expect(copyOf(new Date(Number.NaN)).getTime()).toBeNaN();
  });

  test("are texts that any database holds: no NUL, no half of a surrogate pair [J41]", () => {
    for (const value of ["\0\ud800", new Map([["\0\udfff", "\ud800"]]), new Error("\0\ud800")]) {
      const text = codec.encode(value);
      expect(text).not.toContain("\0");
      expect(encodeURIComponent(text)).not.toBe(""); // throws for half of a pair
      expect(isDeepStrictEqual(copyOf(value), value)).toBe(true);
    }
  });

  test("keep shared and circular references [J41]", () => {
    const shared = { a: 1 };
    const circle: Circle = { one: shared, two: [shared], map: new Map([[shared, shared]]) };
    circle.self = circle;
    const back = copyOf(circle);
    expect(sameGraph(back, circle)).toBe(true);
    expect(back.one).toBe(back.two[0]);
    expect(back.self).toBe(back);
    const many = Array.from({ length: 100 }, () => ({}));
    expect(sameGraph(copyOf([many, many[99]]), [many, many[99]])).toBe(true);
  });

  test("a Buffer keeps its own bytes alone, not the pool that it lies in [J41]", () => {
    expect(codec.encode(Buffer.from("x")).length).toBeLessThan(100);
    expect(Buffer.isBuffer(copyOf({ b: Buffer.from("x") }).b)).toBe(true);
  });

  test("a key __proto__ is a key like others, both ways [J42]", () => {
    const plain = JSON.parse('{"__proto__":{"polluted":1},"a":1}') as Record<string, unknown>;
    const circle = JSON.parse('{"__proto__":1}') as { self?: unknown };
    circle.self = circle;
    const bare = Object.assign(Object.create(null), JSON.parse('{"a":1}'));
    Object.defineProperty(bare, "__proto__", {
      value: at,
      enumerable: true,
      configurable: true,
      writable: true,
    });
    for (const value of [plain, { at, plain }, circle, bare, [plain, plain, at]]) {
      const back = copyOf(value);
      expect(isDeepStrictEqual(back, value)).toBe(true);
      expect(sameGraph(back, value)).toBe(true);
      expect(Object.getPrototypeOf(back)).toBe(Object.getPrototypeOf(value));
    }
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  const withGetter = {
    get ok() {
      throw new TypeError("no");
    },
  };
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  const named = Object.assign([1], { index: 0 });
  const deep: unknown[] = [];
  for (let i = 0, inner = deep; i < 501; i++) {
    const next: unknown[] = [];
    inner.push(next);
    inner = next;
  }

  const unstorable: readonly [value: unknown, path: string, found: RegExp, advice: RegExp][] = [
    [
      { items: [0, 1, 2, { callback: () => 1 }] },
      ".items[3].callback",
      /the function callback/,
      /leave it out/,
    ],
    [Symbol("s"), "", /Symbol\(s\)/, /use a text/],
    [{ [Symbol.for("k")]: 1 }, "[Symbol(k)]", /property under a symbol/, /a text/],
    [{ p: Promise.resolve(1) }, ".p", /an instance of Promise/, /await it/],
    [new Map([["a", new Point()]]), '.get("a")', /an instance of Point/, /plain object/],
    [new Map([[new Point(), 1]]), ".key(0)", /an instance of Point/, /plain object/],
    [new Set([1, new WeakMap()]), ".item(1)", /an instance of WeakMap/, /what it refers to/],
    [{ "a b": new ReadableStream() }, '["a b"]', /an instance of ReadableStream/, /read it to its end/],
    [(function* () {})(), "", /an instance of/, /read it to its end/],
    [withGetter, ".ok", /throws when it is read/, /a copy that can be read/],
    [[revoked.proxy], "[0]", /throws when it is read/, /a copy that can be read/],
    [named, ".index", /named property of an array/, /\[\.\.\.array\]/],
    [new (class List extends Array {})(), "", /an array of a class/, /\[\.\.\.array\]/],
    [Object.assign(new Date(), { zone: "CET" }), ".zone", /property of a built-in/, /members of an object/],
    [Object.assign(/a/g, { lastIndex: 3 }), "", /lastIndex 3/, /set its lastIndex to 0/],
    [new Uint8Array(new SharedArrayBuffer(2)), "", /shared memory/, /copy it/],
    [Object.create(Date.prototype), "", /throws when it is read/, /a copy/],
    [Math, "[Symbol(Symbol.toStringTag)]", /symbol/, /text/],
    [deep, "[0]".repeat(500), /nested in 500 levels/, /flat list/],
    [{ at: new Headers() }, ".at", /an instance of Headers/, /plain object/],
    [new AbortController().signal, "", /an instance of AbortSignal/, /plain object/],
  ];

  test("a value that cannot be stored is refused with its path [J43]", () => {
    for (const [value, path, found, advice] of unstorable) {
      const error = refusal(() => codec.encode(value));
      expect(error.path).toBe(path);
      expect(error.found).toMatch(found);
      expect(error.advice).toMatch(advice);
      expect(error.message).toBe(`${path} is ${error.found}, which cannot be stored: ${error.advice}`);
    }
  });

  test("a value that changes while it is read is refused, or stored as it was read once [J43]", () => {
    let reads = 0;
    const shifty = {
      get at() {
        return ++reads > 1 ? () => 1 : new Date(0);
      },
    };
    expect(() => codec.encode(shifty)).toThrow(UnstorableValueError);
  });
});

describe("an error", () => {
  const kept = jsonCodec({ errors: [Declined] });
  const circular = new Error("circle");
  circular.cause = { circular };

  test.each<[string, Error]>([
    [
      "with a cause and properties",
      Object.assign(new TypeError("a", { cause: new RangeError("b") }), { code: "E", at: new Date(0) }),
    ],
    ["whose cause is no error", new Error("a", { cause: { id: 5n } })],
    ["of many", new AggregateError([new Error("a"), "b"], "many")],
    ["of the platform", new DOMException("stop", "AbortError")],
    ["of an abort", AbortSignal.abort().reason as Error],
    ["of the library", new CallTimeoutError("till", 50, "taken")],
    [
      "of the file system",
      Object.assign(new Error("ENOENT: no file"), { errno: -2, code: "ENOENT", syscall: "open" }),
    ],
    ["with a name of its own", Object.assign(new Error("a"), { name: "Odd" })],
    ["with a name that is no text", Object.assign(new Error("a"), { name: [] })],
    ["that is its own cause", circular],
    ["of a registered class", new Declined("no funds")],
  ])("%s comes back [J44]", (_, error) => {
    const back = copyOf({ error, again: [error] }, kept);
    expect(isDeepStrictEqual(back.error, error)).toBe(true);
    expect(sameGraph(back, { error, again: [error] })).toBe(true);
    expect(back.error.constructor).toBe(error.constructor);
    expect([back.error.name, back.error.message, back.error.stack]).toEqual([
      error.name,
      error.message,
      error.stack,
    ]);
    expect((back.error as { code?: unknown }).code).toBe((error as { code?: unknown }).code);
    expect(back.again[0]).toBe(back.error);
    expect(Object.prototype.toString.call(back.error)).toBe(Object.prototype.toString.call(error));
  });

  test("of a class that is not registered comes back as an Error of its name, or as its nearest known class [J44]", () => {
    class CardDeclined extends Declined {}
    const lost = copyOf(new CardDeclined("x"));
    expect(lost.constructor).toBe(Error);
    expect([lost.name, lost.message, lost.reason]).toEqual(["CardDeclined", "declined: x", "x"]);
    const near = copyOf(new CardDeclined("x"), kept);
    expect(near).toBeInstanceOf(Declined);
    expect([near.name, near.reason]).toEqual(["CardDeclined", "x"]);
  });

  test("is always storable: of a property that is not, a short text is kept [J44]", () => {
    const request = { socket: () => 1, deep: new Map([[1, new Declined("inner")]]) };
    const error = Object.assign(new Error("failed", { cause: request }), {
      request,
      url: new URL("https://a.example"),
    });
    Object.defineProperty(error, "odd", {
      get: () => {
        throw new Error("unreadable");
      },
      enumerable: true,
    });
    const back = copyOf<Error & { request?: unknown; url?: unknown; odd?: unknown }>(error);
    expect(back.message).toBe("failed");
    expect(back.request).toMatch(/socket/);
    expect(back.cause).toBe(back.request);
    expect(back.url).toEqual(new URL("https://a.example"));
    expect(back.odd).toBe("(cannot be read: unreadable)");
  });

  test("classes are refused that are no errors, or have the name of another [J44]", () => {
    class CallTimeoutErrorOfMine extends Error {}
    Object.defineProperty(CallTimeoutErrorOfMine, "name", { value: "CallTimeoutError" });
    const given = [[Date], [class extends Error {}.bind(null)], [CallTimeoutErrorOfMine], [class {}]];
    for (const errors of given)
      expect(() => jsonCodec({ errors: errors as unknown as (typeof Error)[] })).toThrow(
        /errors\[0\] must be/,
      );
    expect(() => jsonCodec({ errors: Declined as unknown as [] })).toThrow(/errors must be an array/);
    expect(jsonCodec({ errors: [Declined] }).withErrors([Declined, Declined])).toBeInstanceOf(Object);
  });

  test("of any shape comes back equal [J44]", () => {
    const errors = fc.record({
      type: fc.constantFrom(Error, TypeError, RangeError, SyntaxError),
      message: fc.string({ unit: "binary" }),
      cause: fc.option(fc.anything({ withDate: true, withMap: true, withBigInt: true }), { nil: undefined }),
      more: fc.dictionary(fc.string(), fc.anything({ withSet: true })),
    });
    fc.assert(
      fc.property(errors, ({ type, message, cause, more }) => {
        const error = new type(message, { cause });
        for (const [key, value] of Object.entries(more))
          Object.defineProperty(error, key, { value, enumerable: true, writable: true, configurable: true });
        fc.pre(!codec.encode(error).includes('["Date",""]'));
        expect(isDeepStrictEqual(copyOf(error), error)).toBe(true);
      }),
      { numRuns: sized(100, 1, 300) },
    );
  });
});
