// Verdicts over lives: what is evidence, what is a hint, and what is nothing.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  type EvidenceEvent,
  type EvidenceState,
  initial,
  type LifeEnd,
  SEARCH_AFTER,
  SHORT_LIFE_MS,
  STANDING_LIVES,
} from "../../../lib/host/evidence/evidence-machine.js";

const KILLED: LifeEnd = { type: "unknown", at: 1 };
const told = (state: EvidenceState, ...events: readonly EvidenceEvent[]): EvidenceState =>
  events.reduce((before, event) => decide(before, event)[0], state);
const started = (end?: LifeEnd): EvidenceEvent => ({ type: "started", end });
const blamed = ({ marks }: EvidenceState): readonly string[] => marks.map(({ subject }) => subject);

/** A world of subjects, some of which end each life in which they run; what the machine makes of it. */
function live(
  subjects: readonly string[],
  dies: (running: readonly string[]) => boolean,
  lives: number,
  lifeMs: number,
): { readonly state: EvidenceState; readonly lives: number } {
  let state = told(initial(), started());
  for (let life = 1; life <= lives; life++) {
    let ran = runs(state, subjects);
    state = ran.state;
    // A life without the killer goes on, until all halves have been looked at.
    for (let ms = 1_000; ms <= SHORT_LIFE_MS; ms += 1_000) {
      if (dies(ran.running) && ms > lifeMs) break;
      const [next, effects] = decide(state, { type: "aged", ms, at: ms });
      state = next;
      if (state.marks.length > 0) return { state, lives: life };
      if (effects.some(({ type }) => type === "open")) {
        ran = runs(state, subjects);
        state = ran.state;
      }
    }
    state = told(state, started(KILLED));
  }
  return { state, lives };
}

function runs(
  before: EvidenceState,
  subjects: readonly string[],
): { readonly state: EvidenceState; readonly running: readonly string[] } {
  let state = before;
  const running: string[] = [];
  for (const subject of subjects) {
    const [next, effects] = decide(state, { type: "found", subject });
    state = next;
    if (effects.some(({ type }) => type === "let")) running.push(subject);
  }
  return { state, running };
}

describe("evidence", () => {
  it.each(["exit", "uncaught", "spin"] as const)(
    "marks the subject of an end by %s, and no other",
    (kind) => {
      const state = told(initial(), started(), started({ type: "evidence", subject: "flow:a", kind, at: 7 }));
      expect(state.marks).toEqual([{ subject: "flow:a", kind, at: 7, life: 1 }]);
      expect(told(state, { type: "taken", subject: "flow:a" }).marks).toEqual([]);
    },
  );

  it("is kept through lives until it is stored", () => {
    const mark: LifeEnd = { type: "evidence", subject: "flow:a", kind: "exit", at: 7 };
    expect(
      blamed(told(initial(), started(), started(mark), started(KILLED), started({ type: "clean" }))),
    ).toEqual(["flow:a"]);
  });

  it("is missing after a kill from outside: whatever ran, it makes no mark [J200]", () => {
    const kill = fc.record({
      agedMs: fc.integer({ min: 0, max: 2 * SHORT_LIFE_MS }),
      standing: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
      progressed: fc.subarray(["a", "b", "c"]),
    });
    const property = fc.property(fc.array(kill, { maxLength: 60 }), (kills) => {
      let state = told(initial(), started());
      for (const { agedMs, standing, progressed } of kills) {
        state = runs(state, ["a", "b", "c"]).state;
        state = told(state, { type: "aged", ms: agedMs, at: 0 });
        state = told(state, ...progressed.map((subject): EvidenceEvent => ({ type: "progressed", subject })));
        // Whoever makes no progress may be found at work, but not three times in a row.
        const isNamed = standing !== undefined && progressed.includes(standing);
        state = told(state, started({ ...KILLED, ...(isNamed ? { standing } : {}) }));
        expect(state.marks.every(({ kind }) => kind === "search")).toBe(true);
      }
    });
    fc.assert(property);
  });

  it("that stands at one subject counts from the third life in a row on [J201]", () => {
    const standing: LifeEnd = { type: "unknown", standing: "flow:a", at: 1 };
    let state = told(initial(), started(), started(KILLED));
    expect(state.isWatched).toBe(true);
    for (let times = 1; times < STANDING_LIVES; times++) {
      state = told(state, started(standing));
      expect(blamed(state)).toEqual([]);
    }
    const apart = told(state, started({ ...standing, standing: "flow:b" }), started(standing));
    expect(blamed(apart)).toEqual([]);
    expect(blamed(told(state, { type: "progressed", subject: "flow:a" }, started(standing)))).toEqual([]);
    state = told(state, started(standing));
    expect(state.marks).toEqual([{ subject: "flow:a", kind: "standing", at: 1, life: STANDING_LIVES + 1 }]);
    expect(blamed(told(state, { type: "taken", subject: "flow:a" }, started(standing)))).toEqual(["flow:a"]);
  });
});

describe("ends of lives at one subject", () => {
  const standing: LifeEnd = { type: "unknown", standing: "flow:a", at: 1 };
  it.each<readonly [string, LifeEnd]>([
    ["a stop in order", { type: "clean" }],
    ["an end by another subject", { type: "evidence", subject: "flow:b", kind: "exit", at: 1 }],
    ["a kill while no code runs", KILLED],
  ])("counts on after %s [J400]", (_, between) => {
    let state = told(initial(), started(), started(KILLED));
    for (let times = 1; times <= STANDING_LIVES; times++)
      state = told(state, started(between), started(standing));
    expect(state.marks).toContainEqual(expect.objectContaining({ subject: "flow:a", kind: "standing" }));
    // What is between is no time of its own.
    expect(state.marks.filter(({ kind }) => kind === "standing")).toHaveLength(1);
  });

  it("is over after a life that was long, and after progress", () => {
    const long: EvidenceEvent = { type: "aged", ms: SHORT_LIFE_MS, at: 1 };
    for (const event of [long, { type: "progressed", subject: "flow:a" } as const]) {
      let state = told(initial(), started(), started(KILLED));
      for (let times = 1; times < STANDING_LIVES; times++) state = told(state, started(standing));
      expect(blamed(told(state, event, started(KILLED), started(standing)))).toEqual([]);
    }
  });
});

describe("the search by halves", () => {
  it("begins after short lives without progress, and not before", () => {
    let state = told(initial(), started());
    for (let lives = 1; lives <= SEARCH_AFTER; lives++) {
      expect(state.search).toBeUndefined();
      state = told(state, started(KILLED));
    }
    expect(state.search).toBeDefined();
    const progressed: EvidenceEvent = { type: "progressed", subject: "flow:a" };
    const long: EvidenceEvent = { type: "aged", ms: SHORT_LIFE_MS, at: 1 };
    for (const event of [progressed, long]) {
      let other = told(initial(), started());
      for (let lives = 1; lives < SEARCH_AFTER; lives++) other = told(other, started(KILLED));
      expect(told(other, event, started(KILLED)).search).toBeUndefined();
    }
  });

  it("finds the one of many that ends lives without a trace [J202]", () => {
    const property = fc.property(
      fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 2, maxLength: 200 }),
      fc.nat(),
      (subjects, at) => {
        const killer = subjects[at % subjects.length] as string;
        const { state } = live(subjects, (running) => running.includes(killer), SEARCH_AFTER + 40, 2_000);
        expect(blamed(state)).toEqual([killer]);
        expect(state.marks[0]?.kind).toBe("search");
      },
    );
    fc.assert(property);
  });

  it("blames no subject when lives are short whatever runs, and asks for more lives the next time [J203]", () => {
    const property = fc.property(
      fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 50 }),
      (subjects) => {
        const { state } = live(subjects, () => true, 3 * SEARCH_AFTER, 2_000);
        expect(blamed(state)).toEqual([]);
      },
    );
    fc.assert(property);
    const { state } = live(
      Array.from({ length: 50 }, (_, i) => `flow:${i}`),
      () => true,
      3 * SEARCH_AFTER,
      2_000,
    );
    expect(state.patience).toBeGreaterThan(SEARCH_AFTER);
  });

  it("clears a subject that makes progress at once [J202]", () => {
    let state = told(initial(), started());
    for (let lives = 1; lives <= SEARCH_AFTER; lives++) state = told(state, started(KILLED));
    const subjects = Array.from({ length: 20 }, (_, i) => `flow:${i}`);
    const { running } = runs(state, subjects);
    const held = subjects.filter((one) => !running.includes(one));
    expect(held.length).toBeGreaterThan(0);
    state = told(state, ...held.map((subject): EvidenceEvent => ({ type: "progressed", subject })));
    expect(runs(state, subjects).running).toEqual(subjects);
  });
});
