// Values in texts: short whatever their size, and harmless whatever they are.

import fc from "fast-check";
import { type ExitReason, formatReason, Pid } from "signalbox";
import { describe, expect, it, vi } from "vitest";
import { crash } from "../../lib/process/reason.js";
import { isError, show, showError, showThrown, stackOf } from "../../lib/process/show.js";
import { bristling, HOSTILE, revoked, thrower } from "../support/hostile.js";

describe("a value in a text", () => {
  it.each([
    [{ item: "tea", n: 3 }, '{"item":"tea","n":3}'],
    [[1, "two", null, undefined, true, 4n], '[1,"two",null,undefined,true,4]'],
    ["tea", '"tea"'],
    [-0, "0"],
    [new Map([[1, 2]]), "a Map"],
    [Buffer.alloc(100), "a Buffer"],
    [{ cause: new RangeError("too far") }, '{"cause":RangeError: too far}'],
    [new Pid({ name: "shop", id: "x" }, 7, "clerk", undefined), '"<shop.7 clerk>"'],
    [{ a: { b: { c: { d: { e: {} } } } } }, '{"a":{"b":{"c":{"d":{"e":a Object}}}}}'],
    [{ text: "x".repeat(200) }, `{"text":"${"x".repeat(71)}…`],
    [function bake() {}, "function bake"],
    [() => 1, "function (anonymous)"],
  ])("%# reads as one expects", (value, text) => {
    expect(show(value)).toBe(text);
  });

  it("that holds itself is named by its class", () => {
    const loop: { deep?: unknown } = {};
    loop.deep = [{ loop }];
    expect(show(loop)).toBe("a Object");
  });

  it("may hold the same object twice", () => {
    const tea = { n: 1 };
    expect(show([tea, tea])).toBe('[{"n":1},{"n":1}]');
  });

  it("is shown without a call of its getters", () => {
    const get = vi.fn(() => "secret");
    const value = Object.defineProperty({ n: 1 }, "secret", { enumerable: true, get });
    expect(show(value)).toBe('{"n":1,"secret":…}');
    expect(get).not.toHaveBeenCalled();
  });

  it.each(HOSTILE)("is short, and does no harm, for %s [E2]", (_what, value) => {
    for (const shown of [value, [value], { value }, { deep: [{ value }] }]) {
      expect(show(shown).length).toBeLessThan(100);
    }
  });

  it("is short for any value", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (value) => {
        expect(show(value).length).toBeLessThanOrEqual(81);
      }),
    );
  });

  it("costs no more than its text: only the first members are read", () => {
    let looked = 0;
    const wide = new Proxy(
      Array.from({ length: 1_000_000 }, (_, i) => i),
      {
        getOwnPropertyDescriptor: (target, key) => {
          looked++;
          return Reflect.getOwnPropertyDescriptor(target, key);
        },
      },
    );
    show([wide, wide]);
    expect(looked).toBeLessThan(100);
    let deepest = {};
    for (let i = 0; i < 100_000; i++) deepest = { deepest };
    expect(show(deepest).length).toBeLessThan(81);
  });
});

describe("a reason in a text", () => {
  it.each(HOSTILE)("does no harm when it holds %s", (_what, value) => {
    for (const reason of [
      { type: "custom", value },
      { type: "shutdown", detail: value },
      { type: "crash", error: value },
      crash(value),
    ]) {
      expect(formatReason(reason as ExitReason).length).toBeLessThan(2_100);
    }
  });

  it("is limited to a length that people can read", () => {
    expect(formatReason(crash(new Error("x".repeat(10_000_000)))).length).toBeLessThan(1_100);
    expect(stackOf(new Error("x".repeat(10_000_000)))?.length).toBeLessThan(10_100);
  });
});

describe("an Error in a text", () => {
  it.each(HOSTILE)("does no harm when it was thrown and is %s", (_what, value) => {
    expect(showThrown(value).length).toBeLessThan(10_100);
  });

  it("says which part of the Error cannot be read", () => {
    expect(showError(thrower("message"))).toBe("Error: (no readable message)");
    expect(showError(thrower("name"))).toBe("Error: plain");
    expect(stackOf(thrower("stack"))).toBe(undefined);
  });

  it("is recognised without a call of its code", () => {
    expect(isError(new TypeError("x"))).toBe(true);
    expect(isError(revoked())).toBe(false);
    expect(isError(bristling())).toBe(false);
  });
});
