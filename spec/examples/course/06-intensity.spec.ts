// The answer to page 06 of the course: the formula agrees with failures that are counted, and with a supervisor at its limit.

import { System, supervisor } from "signalbox";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { chanceOfGivingUp, intensityFor } from "../../../examples/course/06-intensity.js";

/** Random numbers in (0, 1), the same in every run. */
function* random(): Generator<number> {
  for (let x = 1; ; x = (x * 48_271) % 2_147_483_647) yield x / 2_147_483_647;
}

describe("intensityFor", () => {
  it.each([
    [1, 1],
    [1, 3],
    [0.5, 2],
    [4, 8],
  ])(
    "with %d failures in a period on average, counts at least %i as often as the formula says",
    (m, intensity) => {
      const times: number[] = [];
      let at = 0;
      let tooMany = 0;
      const dice = random();
      for (let n = 0; n < 50_000; n++) {
        at -= Math.log(dice.next().value as number) / m;
        times.push(at);
        // The failure `intensity` places before is still within the period.
        if (at - (times[n - intensity] ?? Number.NEGATIVE_INFINITY) <= 1) tooMany++;
      }
      expect(tooMany / 50_000).toBeCloseTo(chanceOfGivingUp(m, intensity), 2);
    },
  );

  it.each([
    [60_000, 6],
    [5_000, 3],
  ])("finds the intensity of twenty counters for a period of %i ms", (periodMs, intensity) => {
    const counters = { children: 20, failuresPerHour: 1, periodMs, giveUpsPerYear: 1 };
    expect(intensityFor(counters)).toBe(intensity);
  });

  it("needs none where nothing fails", () => {
    expect(intensityFor({ children: 3, failuresPerHour: 0, periodMs: 5_000, giveUpsPerYear: 0 })).toBe(0);
  });
});

it("two levels of intensity 3 end after sixteen failures", async () => {
  const clock = testClock();
  const system = new System({ report: false, environment: clock.environment });
  const Inner = supervisor({
    intensity: 3,
    children: [{ id: "pot", name: "pot", start: { handle: () => undefined } }],
  });
  await system.start(supervisor({ intensity: 3, name: "root", children: [{ id: "inner", start: Inner }] }));
  let failures = 0;
  while (system.whereis("root") !== undefined) {
    system.exit("pot", "kill");
    failures++;
    await clock.settle();
  }
  expect(failures).toBe(16);
});
