// Numbers and times as they are shown.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import {
  agoText,
  clipped,
  numberText,
  plural,
  type Unit,
  visible,
} from "../../../lib/observer/client/model/format.js";
import { sparkPath } from "../../../lib/observer/client/model/spark.js";
import { steady, stepOf } from "../../../lib/observer/client/model/steady.js";

test.each<[number, Unit, string]>([
  [0, "count", "0"],
  [104_233, "count", "104,233"],
  [1_042_330, "count", "1.04 M"],
  [-5, "count", "−5"],
  [0.4218, "rate", "0.42/s"],
  [1_250, "rate", "1.25 k/s"],
  [99_960, "rate", "100 k/s"],
  [999_700, "rate", "1 M/s"],
  [0.25, "ms", "0.25 ms"],
  [999.7, "ms", "1 s"],
  [3_250, "ms", "3.3 s"],
  [59_999, "ms", "1 min"],
  [65_000, "ms", "1 min 5 s"],
  [3_600_000, "ms", "1 h"],
  [7_500_000, "ms", "2 h 5 min"],
  [187_200_000, "ms", "2 d 4 h"],
  [Number.POSITIVE_INFINITY, "ms", "∞"],
  [17_100_000, "bytes", "17.1 MB"],
  [0.004, "percent", "0.4 %"],
  [0.5, "percent", "50 %"],
  [Number.NaN, "count", "–"],
])("%d as %s is %s", (value, unit, text) => {
  expect(numberText(value, unit)).toBe(text);
});

test.each([
  [0, "now"],
  [-900, "now"],
  [-4_000, "in 4 s"],
  [12_400, "12 s ago"],
  [59_700, "1 min ago"],
  [7_200_000, "2 h ago"],
  [90_000_000, "1 d ago"],
])("%d ms ago is %j", (ms, text) => {
  expect(agoText(ms)).toBe(text);
});

it("counts have their nouns", () => {
  expect([plural(1, "crash", "crashes"), plural(2, "crash", "crashes"), plural(0, "restart")]).toEqual([
    "1 crash",
    "2 crashes",
    "0 restarts",
  ]);
});

test.prop([fc.string(), fc.integer({ min: 2, max: 20 })])("a clipped text has its two ends", (text, most) => {
  const short = clipped(text, most);
  expect(short.length).toBeLessThanOrEqual(most);
  if (text.length <= most) expect(short).toBe(text);
  else
    expect([
      text.startsWith(short.split("…")[0] ?? "x"),
      text.endsWith(short.slice(-1)) || most === 2,
    ]).toEqual([true, true]);
});

it("a text shows each of its characters", () => {
  expect(visible("red \u001b[31m, \u202etxt.exe, a\u200bb, naïve 列車 🚂")).toBe(
    "red ␛[31m, �txt.exe, a�b, naïve 列車 🚂",
  );
});

describe("a number that does not flicker", () => {
  it("stays while the value moves by less than most of a step", () => {
    const shown: number[] = [];
    let now: number | undefined;
    for (const value of [104, 105, 106, 104.5, 107.9, 109, 108]) {
      now = steady(now, value, "rate");
      shown.push(now);
    }
    expect(shown).toEqual([100, 100, 100, 100, 100, 110, 110]);
  });

  test.prop([fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { minLength: 1 })])(
    "is never a step away from the value",
    (values) => {
      let now: number | undefined;
      for (const value of values) {
        now = steady(now, value, "rate");
        expect(Math.abs(now - value)).toBeLessThanOrEqual(1.000001 * (stepOf(value, "rate") ?? 0));
      }
    },
  );

  it("is the count itself where things are counted", () => {
    expect(steady(100, 101, "count")).toBe(101);
    expect(steady(100, 0, "rate")).toBe(0);
    expect(steady(undefined, 0.1234, "rate")).toBe(0.12);
  });
});

it("the line of a small chart stays in its box", () => {
  expect(sparkPath([0, 10, 5], 80, 20)).toBe("M0.0 19.0L40.0 1.0L80.0 10.0");
  expect(sparkPath([0, 0], 80, 20)).toBe("M0.0 19.0L80.0 19.0");
});
