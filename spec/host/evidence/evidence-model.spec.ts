// Random pasts of a program: the machine marks whom the rules of decisions 120, 148 and 166 accuse, and nobody else.

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  decide,
  type EvidenceEvent,
  type EvidenceMark,
  initial,
  type LifeEnd,
  SHORT_LIFE_MS,
  WATCH_MS,
} from "../../../lib/host/evidence/evidence-machine.js";
import { carriesNames, isLoop, isWatched, marksOf, type PastLife } from "../../support/evidence-model.js";
import { sized } from "../../support/proof.js";

const SUBJECTS = ["flow:a", "flow:b", "flow:c"] as const;
const life: fc.Arbitrary<PastLife> = fc
  .record({
    end: fc.constantFrom("stop", "left", "word", "silence", "silence"),
    by: fc.option(fc.constantFrom(...SUBJECTS, SUBJECTS[0], SUBJECTS[0])),
    kind: fc.constantFrom("exit", "uncaught", "spin"),
    ageMs: fc.oneof(
      { weight: 8, arbitrary: fc.integer({ min: 0, max: SHORT_LIFE_MS - 1 }) },
      { weight: 1, arbitrary: fc.constantFrom(SHORT_LIFE_MS, WATCH_MS - 1, WATCH_MS, 2 * WATCH_MS) },
    ),
    progressed: fc.oneof(fc.constant([]), fc.subarray([...SUBJECTS])),
  } as const)
  .map(({ by, ...rest }) => (by === null ? rest : { ...rest, by }));

/** So many lives carried names. */
let carried = 0;

/** The marks that the machine makes of a past, each taken at once. */
function marked(past: readonly PastLife[]): readonly EvidenceMark[] {
  const marks: EvidenceMark[] = [];
  let state = initial();
  const told = (event: EvidenceEvent): void => {
    state = decide(state, event)[0];
  };
  told({ type: "started", end: undefined });
  for (const [index, one] of past.entries()) {
    expect(state.isWatched).toBe(isWatched(past, index + 1));
    expect(state.isCarrying).toBe(carriesNames(past, index + 1));
    carried += Number(state.isCarrying);
    if (one.ageMs > 0) told({ type: "aged", ms: one.ageMs, at: 0 });
    for (const subject of one.progressed) told({ type: "progressed", subject });
    if (one.end === "stop") told({ type: "closed" });
    told({ type: "started", end: endOf(one, state.isWatched) });
    for (const mark of state.marks) {
      marks.push(mark);
      told({ type: "taken", subject: mark.subject });
    }
  }
  return marks;
}

function endOf({ end, by, kind }: PastLife, watched: boolean): LifeEnd {
  if (end === "stop" || end === "left") return { type: "clean" };
  if (end === "word" && by === undefined) return { type: "nameless" };
  if (end === "word") return { type: "evidence", subject: by as string, kind: kind as "exit", at: 0 };
  return { type: "unknown", at: 0, ...(watched && by !== undefined && { standing: by }) };
}

it("marks the subjects that the rules accuse, at the end of the life that they name, and no others [J400]", () => {
  let stood = 0;
  const property = fc.property(
    fc.array(life, { maxLength: 30 }).filter((past) => !isLoop(past)),
    (past) => {
      const due = marksOf(past);
      stood += due.filter(({ kind }) => kind === "standing").length;
      expect(marked(past).map(({ subject, kind, life: at }) => ({ life: at, subject, kind }))).toEqual(due);
    },
  );
  fc.assert(property, { numRuns: sized(2_000) });
  expect(stood).toBeGreaterThan(0);
  expect(carried).toBeGreaterThan(0);
});
