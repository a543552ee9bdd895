// Ages of processes by the numbers of the newest ones.

import fc from "fast-check";
import { expect, test } from "vitest";
import { Ages } from "../../../../lib/admin/system/processes/ages.js";

test("an age is at most the time between two notes too low, and unknown before the first note [N1533]", () => {
  const spawns = fc.array(fc.record({ ms: fc.integer({ min: 1, max: 50 }), count: fc.nat(5) }), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(spawns, (plan) => {
      const ages = new Ages();
      const born: number[] = [];
      let now = 0;
      ages.note(born.length, now);
      for (const { ms, count } of plan) {
        for (let i = 0; i < count; i++) born.push(now);
        now += ms;
        ages.note(born.length, now);
      }
      for (const [i, at] of born.entries()) {
        const age = ages.ageOf(i + 1, now) as number;
        expect(age).toBeLessThanOrEqual(now - at);
        expect(age).toBeGreaterThanOrEqual(now - at - 50);
      }
      expect(ages.ageOf(0, now)).toBeUndefined();
    }),
  );
});

test("however long somebody looks, the notes are bounded, and old processes stay old [N1533]", () => {
  const ages = new Ages();
  for (let second = 0; second < 100_000; second++) ages.note(second + 1, second * 1_000);
  const now = 99_999_000;
  expect(ages.ageOf(1, now)).toBeUndefined();
  for (const id of [2, 500, 50_000, 99_000, 99_990, 99_999]) {
    const age = ages.ageOf(id, now) as number;
    const truth = now - (id - 1) * 1_000;
    expect(age).toBeLessThanOrEqual(truth);
    expect(truth - age).toBeLessThanOrEqual(2_000 + truth / 20);
  }
});
