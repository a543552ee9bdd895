// Options by a table: names, ranges, defaults and paths.

import { describe, expect, it } from "vitest";
import {
  abortSignal,
  among,
  asGiven,
  checked,
  checkedPart,
  fn,
  maybe,
  ms,
  share,
  whole,
} from "../../lib/process/option-schema.js";
import { flag, text } from "../../lib/process/options.js";

const CHECKS = {
  size: whole(1, 10),
  waitMs: ms(1, Number.POSITIVE_INFINITY),
  mode: among("fast", "safe"),
  label: maybe(text),
  inner: maybe((path, given) => checked(path, given as object, { on: flag }, { on: true })),
};
const DEFAULTS = { waitMs: 100, mode: "safe" } as const;
const check = (given: object): unknown => checked("", given, CHECKS, DEFAULTS);

describe("options checked by a table", () => {
  it("are complete: given ones, then defaults; the others are undefined", () => {
    expect(check({ size: 3, mode: "fast" })).toEqual({
      size: 3,
      waitMs: 100,
      mode: "fast",
      label: undefined,
      inner: undefined,
    });
    expect(check({ size: 3, waitMs: Number.POSITIVE_INFINITY, inner: {} })).toMatchObject({
      waitMs: Number.POSITIVE_INFINITY,
      inner: { on: true },
    });
  });

  it.each([
    [{}, "size must be a whole number, 1 or more; got undefined"],
    [{ size: 11 }, "size must be a whole number from 1 to 10; got 11"],
    [{ size: 1, waitMs: 0 }, "waitMs must be a number of milliseconds, 1 or more"],
    [{ size: 1, mode: "slow" }, 'mode must be one of "fast", "safe"; got "slow"'],
    [{ size: 1, label: "" }, "label must be a text that is not empty"],
    [{ size: 1, wait: 5 }, "wait must be absent: did you mean waitMs?"],
    [{ size: 1, inner: { on: 1 } }, "inner.on must be true or false; got 1"],
    [{ size: 1, inner: { verbose: 1 } }, "inner.verbose must be absent: there is only on"],
    [[], "options must be an object of size, waitMs, mode, label, inner"],
  ])("are refused with path, value and what is allowed: %j", (given, message) => {
    expect(() => check(given)).toThrow(message);
  });

  it("may be a part: only given ones are checked and kept", () => {
    expect(checkedPart("config", { size: 2, label: undefined }, CHECKS)).toEqual({ size: 2 });
    expect(() => checkedPart("config", { size: 0 }, CHECKS)).toThrow("config.size must be");
    expect(() => checkedPart("config", { sise: 2 }, CHECKS)).toThrow("config.sise must be absent");
  });

  it("have checks for shares, functions and signals, and one that looks at nothing", () => {
    const { signal } = new AbortController();
    expect([share("s", 0.5), abortSignal("a", signal), asGiven()("any", 7)]).toEqual([0.5, signal, 7]);
    expect(fn("a function of x")("f", check)).toBe(check);
    expect(() => share("s", 1.5)).toThrow("s must be a number from 0 to 1; got 1.5");
    expect(() => abortSignal("a", {})).toThrow("a must be an AbortSignal");
    expect(() => fn("a function of x")("f", 1)).toThrow("f must be a function of x; got 1");
  });
});
