// The comparison of codecs: a speed is given only for what comes back as it was.

import { describe, expect, it } from "vitest";
import { CODECS, type CodecName, carrying, flawOf, KINDS } from "./codecs.js";
import { difference } from "./difference.js";

const kinds = Object.entries(KINDS);
const others = (Object.keys(CODECS) as CodecName[]).filter((codec) => codec !== "signalbox");

describe("the comparison of codecs", () => {
  it.each(kinds)("finds that signalbox brings back %s as it was", (_, kind) => {
    expect(flawOf("signalbox", kind)).toBeUndefined();
  });

  it("says what others bring back different", () => {
    const flaws = kinds.flatMap(([name, kind]) =>
      others.flatMap((codec) => {
        const flaw = flawOf(codec, kind);
        return flaw === undefined ? [] : [`${name}, ${codec}: ${flaw}`];
      }),
    );
    expect(flaws).toEqual([
      "a pid, JSON: string for Pid at from",
      "an Error with a cause, msgpackr: another string at error.stack",
      "an Error with a cause, devalue: Cannot stringify arbitrary non-POJOs",
      "an Error with a cause, JSON: Object for RangeError at error",
      "undefined and -0, msgpackr: number for -0 at zero",
      "undefined and -0, JSON: no none",
      "a Date, JSON: string for Date at at",
      "a bigint, JSON: Do not know how to serialize a BigInt",
      "a Map, JSON: Object for Map at map",
      "a Set, JSON: Object for Set at set",
      "1 KiB of bytes, JSON: Object for Uint8Array at bytes",
      "a shared object, JSON: a copy for a shared object at again",
      "a circle, JSON: Converting circular structure to JSON",
    ]);
  });

  it("counts the messages that it carries", async () => {
    for (const codec of Object.keys(CODECS) as CodecName[]) {
      const run = await carrying(codec, { count: 200, make: (n) => ({ n }) }).run();
      await run.end?.();
      expect(run.counted).toBe(200);
    }
  });
});

describe("a difference", () => {
  it.each([
    [1, 1, undefined],
    [{ a: [1, new Map([["k", new Date(5)]])] }, { a: [1, new Map([["k", new Date(5)]])] }, undefined],
    [{ a: 1 }, { a: "1" }, "string for number at a"],
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, "no a"],
    [{ a: 1 }, { a: 1, b: 2 }, "also b"],
    [{ at: [new Date(5)] }, { at: [new Date(6)] }, "another number at at.0.time"],
    [new Map([["k", 1]]), new Map([["k", 2]]), "another number at value 0"],
    [new Set([1]), new Set([2]), "another number at item 0"],
    [new TypeError("x"), new RangeError("x"), "RangeError for TypeError"],
    [new Uint8Array([1]), new Uint8Array([2]), "another string at bytes"],
    [Object.create(null), {}, "Object for an object without a prototype"],
    [null, {}, "Object for null"],
  ])("of %j and %j is %j", (sent, came, right) => {
    expect(difference(sent, came)).toBe(right);
  });

  it("is found in what two parts share, and a circle has none", () => {
    const shared = {};
    expect(difference([shared, shared], [{}, {}])).toBe("a copy for a shared object at 1");
    const circle = (): object => {
      const one: Record<string, unknown> = {};
      one.self = one;
      return one;
    };
    expect(difference(circle(), circle())).toBeUndefined();
  });
});
