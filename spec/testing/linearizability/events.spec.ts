// The memory of the search: events that are lifted and restored, and sets of operations with states.

import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { Events, Visited } from "../../../lib/testing/linearizability/events.js";
import { proving } from "../../support/proof.js";

/** What the list has, from its first entry on: operations that begin, and complements of those that are answered. */
function entries(events: Events, most: number): number[] {
  const all: number[] = [];
  for (let entry = events.first(); all.length < most && entry !== 0; entry = events.after(entry)) {
    all.push(events.whose(entry));
  }
  return all;
}

/** Operations that begin and end at the places of a shuffled list of their numbers, each of which is there twice. */
const spans = fc
  .integer({ min: 1, max: 8 })
  .chain((size) =>
    fc.shuffledSubarray(
      Array.from({ length: size * 2 }, (_, i) => i >> 1),
      { minLength: size * 2 },
    ),
  )
  .chain((places) => fc.tuple(fc.constant(places), fc.array(fc.boolean(), { minLength: 8, maxLength: 8 })))
  .map(([places, answered]) =>
    Array.from({ length: places.length / 2 }, (_, one) => ({
      begin: places.indexOf(one),
      end: answered[one] === true ? places.lastIndexOf(one) : Number.POSITIVE_INFINITY,
    })),
  );

describe("the list of events", () => {
  test.prop([spans, fc.array(fc.nat(7))])("is in their order, without what is lifted", (given, wanted) => {
    const events = new Events(given);
    const lifted: number[] = [];
    const check = (): void => {
      const left = given
        .flatMap(({ begin, end }, one) => [
          { at: begin, one },
          { at: end, one: ~one },
        ])
        .filter(({ at, one }) => at < Number.POSITIVE_INFINITY && !lifted.includes(one < 0 ? ~one : one))
        .sort((a, b) => a.at - b.at)
        .map(({ one }) => one);
      expect(entries(events, 99)).toEqual(left);
      const answer = left.findIndex((one) => one < 0);
      if (answer >= 0) expect(events.open()).toEqual(left.slice(0, answer));
    };
    check();
    for (const one of wanted) {
      if (one < given.length && !lifted.includes(one)) {
        events.lift(one);
        lifted.push(one);
      } else if (lifted.length > 0) events.restore(lifted.pop() as number);
      check();
    }
  });
});

describe("the visited", () => {
  const operations = 50;
  /** Most sets that a search has are all of the first operations and a few more. */
  const set = fc
    .tuple(
      fc.constantFrom(0, 3, 15, 16, 17, 32, 40),
      fc.array(fc.nat({ max: operations - 1 }), { maxLength: 3 }),
    )
    .map(([first, more]) => [...new Set([...Array.from({ length: first }, (_, i) => i), ...more])]);
  const id = fc.constantFrom(0, 1, 15, 0xffff, 0x10000, 0x10001, 0x7fffff);

  test.prop([fc.array(fc.tuple(set, id), { minLength: 1, maxLength: 30 })], {
    numRuns: proving ? 100 : 30,
  })("are new once for each set of operations and each state", (reached) => {
    const visited = new Visited(operations);
    const model = new Set<string>();
    const place = (index: number, state: number, placed: readonly number[]): void => {
      const name = `${[...placed, index].sort((a, b) => a - b).join()}:${state}`;
      expect(visited.has(index)).toBe(false);
      expect(visited.place(index, state)).toBe(!model.has(name));
      expect(visited.has(index)).toBe(!model.has(name));
      model.add(name);
      expect(visited.size).toBe(model.size);
    };
    for (const [indices, state] of reached) {
      const placed: number[] = [];
      for (const index of indices) {
        place(index, index === indices.at(-1) ? state : 7 + model.size * 2, placed);
        if (visited.has(index)) placed.push(index);
      }
      for (const index of placed) visited.remove(index);
    }
  });
});
