// The session machine under random faults, against the rules of session-model.ts.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { proving } from "../../support/proof.js";
import { CONFIG, SessionModel, type SideOf, type Step } from "./session-model.js";

const side = fc.constantFrom<SideOf>(0, 1);

const sends: fc.Arbitrary<Step> = fc.record({
  op: fc.constant("send" as const),
  side,
  lane: fc.nat(2),
  pad: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.constantFrom(1, 30, 90)),
  isRefusable: fc.boolean(),
});

const faults: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ op: fc.constantFrom("lose", "twice", "late"), which: fc.nat(2_000) }),
  fc.record({ op: fc.constant("cut" as const), ways: fc.tuple(fc.boolean(), fc.boolean()) }),
  fc.record({ op: fc.constantFrom("restart", "stop", "go on"), side }),
);

const waits: fc.Arbitrary<Step> = fc.record({
  op: fc.constant("advance" as const),
  ms: fc.oneof(fc.nat(3), fc.nat(600), fc.nat(6_000)),
});

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: sends },
    { weight: 3, arbitrary: waits },
    { weight: 2, arbitrary: faults },
  ),
  { minLength: 10, maxLength: 80, size: "max" },
);

/** Runs a property, and collects what the models saw. */
function prove(config = CONFIG): { reasons: Set<string>; arrivals: number; parts: number } {
  const all = { reasons: new Set<string>(), arrivals: 0, parts: 0 };
  fc.assert(
    fc.property(steps, (given) => {
      const model = new SessionModel(config);
      model.run(given);
      model.heal();
      expect(model.broken).toEqual([]);
      for (const reason of model.seen.reasons) all.reasons.add(reason);
      all.arrivals += model.seen.arrivals;
      all.parts += model.seen.parts;
    }),
    { numRuns: proving ? 1_500 : 200 },
  );
  return all;
}

describe("two sessions joined by a bad network", () => {
  test("deliver a prefix in order, once; lose nothing in silence; end each epoch once at each side; and agree after the heal [N990]", () => {
    const { reasons, arrivals, parts } = prove();
    expect(arrivals).toBeGreaterThan(500);
    expect(parts).toBeGreaterThan(20);
    expect([...reasons]).toEqual(
      expect.arrayContaining(["gap", "timeout", "slept", "stalled", "unreachable"]),
    );
  });
});
