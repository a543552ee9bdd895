// Durations as people write them.

import fc from "fast-check";
import { OptionError } from "signalbox";
import { describe, expect, expectTypeOf, test } from "vitest";
import { type Duration, duration, durationText, LONGEST_DURATION_MS } from "../../lib/process/duration.js";

function refusal(value: unknown, least?: number): OptionError {
  try {
    duration("timeout", value, least);
  } catch (error) {
    if (error instanceof OptionError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

describe("a duration", () => {
  test.each<[Duration, number]>([
    [0, 0],
    [1.5, 1.5],
    ["500 ms", 500],
    ["90 s", 90_000],
    ["1.5 h", 5_400_000],
    ["30 min", 1_800_000],
    ["1 minute", 60_000],
    ["2 days", 172_800_000],
    ["1.1 d", 95_040_000],
    ["1 week", 604_800_000],
    ["1 day 12 hours", 129_600_000],
    ["0 s", 0],
    [{ days: 1, hours: 12 }, 129_600_000],
    [{ minutes: 0.1 }, 6_000],
    [{ weeks: 1, seconds: 1, milliseconds: 1 }, 604_801_001],
  ])("is read: %j is %d ms [J40]", (given, ms) => {
    expect(duration("timeout", given)).toBe(ms);
  });

  test.each<unknown>(
    [
      [
        "5",
        "-1 s",
        "1s",
        "1 day 12",
        "day",
        "",
        " 1 s",
        "1 s ",
        "1  s",
        "1 S",
        "1 sec",
        "1 m",
        "1e3 s",
        "0x1 s",
      ],
      ["1 h 2 min 3 s", "1 constructor", "2 months", "1 year", `${"1".repeat(400)} s`, "NaN s", "Infinity s"],
      [Number.NaN, -1, Number.POSITIVE_INFINITY, LONGEST_DURATION_MS + 1, "1001 d".repeat(20), "365251 days"],
      [undefined, null, true, [], ["1 s"], {}, { day: 1 }, { days: -1 }, { days: "1" }],
      [{ hours: Number.NaN }, { days: 365_251 }, () => 5],
    ].flat(),
  )("is refused: %j [J40]", (given) => {
    expect(refusal(given).path).toMatch(/^timeout(?:\.\w+)?$/);
  });

  test("names path, value and the units that are allowed [J40]", () => {
    expect(refusal("5").message).toBe(
      'timeout must be at most 1,000 years; a number of milliseconds, an object such as { days: 1, hours: 12 }, or a text such as "2 days" or "1 h 30 min" with the units ms, s, min, h, d, w or their full words; got "5"',
    );
    expect(refusal("5").value).toBe("5");
    expect([refusal(5n).value, refusal(Symbol.iterator).value]).toEqual([5n, Symbol.iterator]);
    expect(refusal("2 months").message).toContain("(months and years have no fixed length)");
    expect(refusal({ day: 1 }).message).toContain("did you mean days?");
    expect(refusal("1 s", 60_000).message).toContain("at least 1 min");
    expect(duration("timeout", "1 min", 60_000)).toBe(60_000);
  });

  test("with a misspelled unit does not compile", () => {
    expectTypeOf<"2 days">().toExtend<Duration>();
    expectTypeOf<"1 day 12 hours">().toExtend<Duration>();
    expectTypeOf<"2 dais">().not.toExtend<Duration>();
    expectTypeOf<"5">().not.toExtend<Duration>();
    expectTypeOf<"2 months">().not.toExtend<Duration>();
    expectTypeOf<string>().not.toExtend<Duration>();
  });
});

describe("the text of a duration", () => {
  test.each([
    [0, "0 ms"],
    [0.4, "0.4 ms"],
    [999.9996, "1 s"],
    [1_500.4, "1 s 500 ms"],
    [90_000, "1 min 30 s"],
    [3_599_999.9, "1 h"],
    [86_400_000, "1 day"],
    [129_600_000, "1 day 12 h"],
    [183_600_000, "2 days 3 h"],
    [183_599_000, "2 days 3 h"],
    [-5_000, "-5 s"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [Number.NaN, "NaN"],
  ])("of %d ms is %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  test("is read as the same duration, to half of its smaller unit, and a text read is shown as it was", () => {
    const durations = fc.oneof(
      fc.double({ min: 0, max: LONGEST_DURATION_MS, noNaN: true }),
      fc.integer({ min: 0, max: 200_000_000 }),
      fc.double({ min: 0, max: 100_000, noNaN: true }),
    );
    const half = (ms: number): number => {
      const units = [86_400_000, 3_600_000, 60_000, 1_000, 1].filter((unit) => unit <= ms * 1.000_001);
      const smaller = { 86400000: 3_600_000, 3600000: 60_000, 60000: 1_000, 1000: 1, 1: 0.001 };
      return (smaller[(units[0] ?? 1) as keyof typeof smaller] ?? 0) / 2;
    };
    fc.assert(
      fc.property(durations, (ms) => {
        const text = durationText(ms);
        const read = duration("text", text);
        expect(Math.abs(read - ms)).toBeLessThanOrEqual(half(ms) * 1.000_001);
        expect(durationText(read)).toBe(text);
      }),
      { numRuns: 500 },
    );
  });
});
