// How many trees a spout's task may have under way: by examples, then any history against a model that remembers it all.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { Admission, LIFE_IN_BEATS } from "../../../lib/topology/tracking/admission.js";

describe("admission", () => {
  test("is as large as it may be until a tree expires", () => {
    const admission = new Admission(128);
    for (let beat = 0; beat < 100; beat++) admission.done(beat, beat + 2);
    expect(admission.limit).toBe(128);
  });

  test("shrinks to the trees acked in the last timeout, when these were late", () => {
    const admission = new Admission(128);
    for (let n = 0; n < 70; n++) admission.done(0, 2);
    expect(admission.lost(0, 3, 127, 1)).toEqual({ acked: 70, limit: 70 });
    expect(admission.limit).toBe(70);
  });

  test("shrinks by a quarter at least of the trees in flight", () => {
    const admission = new Admission(128);
    for (let n = 0; n < 200; n++) admission.done(0, 2);
    expect(admission.lost(0, 3, 99, 1)?.limit).toBe(75);
  });

  test("shrinks once for all trees that were emitted before it did", () => {
    const admission = new Admission(128);
    for (let n = 0; n < 50; n++) admission.done(0, 2);
    expect(admission.lost(0, 3, 127, 1)?.limit).toBe(50);
    for (const born of [0, 1, 2]) expect(admission.lost(born, born + 3, 100, 1)).toBeUndefined();
    expect(admission.lost(3, 6, 100, 1)).toBeDefined();
  });

  test("keeps every task at work, whatever expires", () => {
    const admission = new Admission(128);
    for (let beat = 3; beat < 30; beat++) admission.lost(beat - 3, beat, 127, 12);
    expect(admission.limit).toBe(12);
  });

  test("does not shrink for a few that expire among many that are quick", () => {
    const admission = new Admission(128);
    for (let n = 0; n < 50; n++) admission.done(2, 2);
    for (let n = 0; n < 20; n++) expect(admission.lost(0, 3, 100, 1)).toBeUndefined();
  });

  test("does not shrink when no more trees are in flight than the tasks work on: no queue made them late", () => {
    const admission = new Admission(128);
    expect(admission.lost(0, 3, 3, 4)).toBeUndefined();
    expect(admission.lost(0, 3, 4, 4)).toBeDefined();
  });

  test("grows by a half for each quick ack: it doubles in two rounds", () => {
    const admission = new Admission(128);
    admission.lost(0, 3, 127, 8);
    expect(admission.limit).toBe(8);
    for (let n = 0; n < 16; n++) admission.done(3, 3);
    expect(admission.limit).toBe(16);
  });

  test("grows slowly when acks take more than half a timeout, and not when they take longer still", () => {
    const admission = new Admission(128);
    admission.lost(0, 3, 127, 8);
    for (let n = 0; n < 17; n++) admission.done(2, 3);
    expect(admission.limit).toBe(9);
    for (let n = 0; n < 100; n++) admission.done(1, 3);
    expect(admission.limit).toBe(9);
  });
});

interface Step {
  readonly beats: number;
  readonly age: number;
  readonly expires: boolean;
  readonly flying: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  beats: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.nat({ max: 4 })),
  age: fc.nat({ max: LIFE_IN_BEATS - 1 }),
  expires: fc.boolean(),
  flying: fc.nat({ max: 40 }),
});

/** What ended, and when: nothing is forgotten. */
class Model {
  room: number;
  private since = 0;
  private readonly most: number;
  private readonly ends: { readonly at: number; readonly age: number; readonly expired: boolean }[] = [];

  constructor(most: number) {
    this.most = most;
    this.room = most;
  }

  done(born: number, at: number): void {
    const age = at - born;
    this.ends.push({ at, age, expired: false });
    if (age < 2) this.room = Math.min(this.most, this.room + (age === 0 ? 0.5 : 0.5 / this.room));
  }

  lost(born: number, at: number, flying: number, least: number): number | undefined {
    this.ends.push({ at, age: at - born, expired: true });
    const recent = this.ends.filter((end) => end.at > at - LIFE_IN_BEATS);
    const bad = recent.filter(({ age, expired }) => expired || age >= 2).length;
    const flew = flying + recent.filter((end) => end.at === at && end.expired).length;
    if (born < this.since || flew <= least || bad * 2 < recent.length) return undefined;
    const limit = Math.floor(this.room);
    const acked = recent.filter(({ expired }) => !expired).length;
    const less = Math.min(Math.floor(Math.min(limit, flew) * 0.75), acked);
    this.since = at;
    this.room = Math.min(limit, Math.max(least, less));
    return acked;
  }
}

describe("any history", () => {
  check.prop([
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 5 }),
    fc.array(step, { maxLength: 200 }),
  ])(
    "gives what the model gives, keeps the bounds, and shrinks by nothing but congestion",
    (most, least, steps) => {
      const admission = new Admission(most);
      const model = new Model(most);
      let now = 0;
      for (const { beats, age, expires, flying } of steps) {
        now += beats;
        const before = admission.limit;
        if (expires) {
          const born = now - LIFE_IN_BEATS;
          const congestion = admission.lost(born, now, flying, least);
          expect(congestion?.acked).toBe(model.lost(born, now, flying, least));
          if (congestion === undefined) expect(admission.limit).toBe(before);
          else expect(admission.limit).toBeLessThanOrEqual(before);
        } else {
          admission.done(now - age, now);
          model.done(now - age, now);
          expect(admission.limit).toBeGreaterThanOrEqual(before);
        }
        expect(admission.limit).toBe(Math.floor(model.room));
        expect(admission.limit).toBeGreaterThanOrEqual(Math.min(most, least));
        expect(admission.limit).toBeLessThanOrEqual(most);
      }
    },
  );

  check.prop([fc.integer({ min: 1, max: 500 })])(
    "ends in all the room there is when acks are quick again",
    (most) => {
      const admission = new Admission(most);
      admission.lost(0, 3, most, 1);
      for (let n = 0; n < 2 * most; n++) admission.done(3, 3);
      expect(admission.limit).toBe(most);
    },
  );
});
