// When executions that no host can run are stranded, against a model that looks at the whole past.

import * as fc from "fast-check";
import { expect, it } from "vitest";
import {
  ABSENT_MS,
  decide,
  initial,
  type PipelineVersion,
  type StrandedEvent,
  versionKey,
} from "../../../lib/pipeline/runtime/stranded-machine.js";
import { sized } from "../../support/proof.js";

const kind: fc.Arbitrary<PipelineVersion> = fc.record({
  pipeline: fc.constantFrom("a", "b"),
  version: fc.integer({ min: 1, max: 2 }),
});
const look = fc.record({
  waitMs: fc.integer({ min: 0, max: ABSENT_MS }),
  wanted: fc.array(kind, { maxLength: 4 }),
  offered: fc.array(kind, { maxLength: 2 }),
});

const includes = (kinds: readonly PipelineVersion[], one: PipelineVersion): boolean =>
  kinds.some((other) => versionKey(other) === versionKey(one));

/** A version is stranded at a look when all looks of the last 30 s and one before missed it, and the streak has not said so before. */
function isStranded(past: readonly StrandedEvent[], one: PipelineVersion): boolean {
  const missed = (event: StrandedEvent): boolean =>
    includes(event.wanted, one) && !includes(event.offered, one);
  const end = past.length - 1;
  let begin = end + 1;
  while (begin > 0 && missed(past[begin - 1] as StrandedEvent)) begin--;
  const streak = past.slice(begin);
  const from = streak[0]?.now ?? 0;
  return streak.findIndex(({ now }) => now - from >= ABSENT_MS) === streak.length - 1 && streak.length > 0;
}

it("executions are stranded once no host has offered their version for half a minute, and that is said once [Y520]", () => {
  fc.assert(
    fc.property(fc.array(look, { maxLength: 12 }), (looks) => {
      let state = initial;
      let now = 0;
      const past: StrandedEvent[] = [];
      for (const { waitMs, wanted, offered } of looks) {
        now += waitMs;
        const event: StrandedEvent = { type: "looked", wanted, offered, now };
        past.push(event);
        const [next, effects] = decide(state, event);
        state = next;
        const expected = wanted.filter(
          (one, i) => isStranded(past, one) && !includes(wanted.slice(0, i), one),
        );
        expect(effects).toEqual(
          expected.map((one) => ({
            ...{ type: "stranded", ...one },
            lacks: offered.some(({ pipeline }) => pipeline === one.pipeline) ? "no version" : "no pipeline",
          })),
        );
      }
    }),
    { numRuns: sized(300), seed: 520 },
  );
});
