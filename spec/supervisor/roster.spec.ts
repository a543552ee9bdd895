// The machine's collections are values: whichever version is changed, every other is as it was.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Queue } from "../../lib/supervisor/queue.js";
import { type Child, newChild, Roster } from "../../lib/supervisor/roster.js";
import { proving } from "../support/proof.js";
import { spec } from "./told.js";

const IDS = ["a", "b", "c", "d", "e", "f"];

type Change = { readonly of: number } & (
  | {
      readonly do: "set";
      readonly id: string;
      readonly pid: number | undefined;
      readonly significant: boolean;
    }
  | { readonly do: "without"; readonly id: string }
);

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    of: fc.nat(),
    do: fc.constant("set" as const),
    id: fc.constantFrom(...IDS),
    pid: fc.option(fc.nat(1_000), { nil: undefined }),
    significant: fc.boolean(),
  }),
  fc.record({ of: fc.nat(), do: fc.constant("without" as const), id: fc.constantFrom(...IDS) }),
);

/** The same in the plainest way. */
function naive(
  before: readonly Child<string>[],
  made: Change,
  child: Child<string>,
): readonly Child<string>[] {
  if (made.do === "without") return before.filter((one) => one.spec.id !== made.id);
  const known = before.some((one) => one.spec.id === made.id);
  return known ? before.map((one) => (one.spec.id === made.id ? child : one)) : [...before, child];
}

function childFor(made: Change, version: number): Child<string> {
  if (made.do === "without") return newChild(spec(made.id));
  const { id, pid, significant } = made;
  const plain = newChild<string>(spec(id, { significant, restart: "transient" }));
  // A pid is one child's only.
  return pid === undefined ? plain : { ...plain, status: "running", pid: `${version} ${pid}` };
}

describe("a roster", () => {
  it("knows what is not as in any other version [N1620]", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120 }), fc.nat(), fc.nat(), (changes, from, to) => {
        const rosters = [Roster.of<string>([])];
        for (const made of changes) {
          const of = rosters[made.of % rosters.length] as Roster<string>;
          const child = childFor(made, rosters.length);
          rosters.push(made.do === "set" ? of.set(child) : of.without(made.id));
        }
        const before = rosters[from % rosters.length] as Roster<string>;
        const after = rosters[to % rosters.length] as Roster<string>;
        const [then, now] = [[...before], [...after]];
        const expected = IDS.map((id) => [then, now].map((all) => all.find((one) => one.spec.id === id)))
          .filter(([was, is]) => was !== is)
          .map(([was, is]) => `${was?.pid} ${was?.status} ${is?.pid} ${is?.status}`);
        const found = after
          .changedSince(before)
          .map(([was, is]) => `${was?.pid} ${was?.status} ${is?.pid} ${is?.status}`);
        expect([...found].sort()).toEqual(expected.sort());
        // Both are as before.
        expect([[...before], [...after]]).toEqual([then, now]);
      }),
      { numRuns: proving ? 5_000 : 200 },
    );
  });

  it("holds in each of its versions the same as a list that is copied for each change", () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 120 }), (changes) => {
        const rosters = [Roster.of<string>([])];
        const lists: (readonly Child<string>[])[] = [[]];
        for (const made of changes) {
          const of = made.of % rosters.length;
          const child = childFor(made, rosters.length);
          const roster = rosters[of] as Roster<string>;
          rosters.push(made.do === "set" ? roster.set(child) : roster.without(made.id));
          lists.push(naive(lists[of] as readonly Child<string>[], made, child));
        }
        for (const [version, list] of lists.entries()) {
          const roster = rosters[version] as Roster<string>;
          expect([...roster]).toEqual(list);
          expect(roster.size).toBe(list.length);
          expect(roster.significant).toBe(
            list.filter(({ spec, status }) => spec.significant && status !== "stopped").length,
          );
          for (const id of IDS) expect(roster.get(id)).toBe(list.find((one) => one.spec.id === id));
          for (const child of list) {
            if (child.pid !== undefined) expect(roster.byPid(child.pid)).toBe(child);
            const later = roster.range(roster.placeOf(child.spec.id), roster.end);
            expect(later).toEqual(list.slice(list.indexOf(child)));
          }
          expect(roster.placeOf("z")).toBe(-1);
          expect(roster.byPid("nobody")).toBeUndefined();
        }
      }),
      { numRuns: proving ? 300 : 100 },
    );
  });

  it("does not keep the places of removed children", () => {
    let roster = Roster.of<string>([newChild(spec("stays"))]);
    for (let i = 0; i < 10_000; i++) roster = roster.set(newChild(spec(`guest ${i}`))).without(`guest ${i}`);
    expect(roster.end).toBeLessThan(100);
    expect([...roster].map((child) => child.spec.id)).toEqual(["stays"]);
  });
});

describe("a queue", () => {
  it("holds in each of its versions the same as an array that is copied for each change", () => {
    const step = fc.record({ of: fc.nat(), add: fc.option(fc.array(fc.nat(9), { maxLength: 5 })) });
    fc.assert(
      fc.property(fc.array(fc.nat(9)), fc.array(step, { maxLength: 120 }), (first, steps) => {
        const queues = [Queue.of(first)];
        const arrays: (readonly number[])[] = [first];
        for (const { of: at, add } of steps) {
          const of = at % queues.length;
          const [queue, array] = [queues[of] as Queue<number>, arrays[of] as readonly number[]];
          queues.push(add === null ? queue.withoutFirst() : queue.concat(add));
          arrays.push(add === null ? array.slice(1) : [...array, ...add]);
        }
        for (const [version, array] of arrays.entries()) {
          const queue = queues[version] as Queue<number>;
          expect([...queue]).toEqual(array);
          expect([queue.length, queue.first]).toEqual([array.length, array[0]]);
        }
      }),
      { numRuns: proving ? 300 : 100 },
    );
  });
});
