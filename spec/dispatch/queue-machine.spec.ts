// Whose turn it is among the dispatches that wait.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Demand,
  HIGHEST_PRIORITY,
  type Takes,
  WaitingQueue,
  type Wake,
} from "../../lib/dispatch/queue-machine.js";

type Queue = WaitingQueue<string, string>;

const wish = (of: Partial<Demand<string>> = {}): Demand<string> => ({
  priority: 0,
  urgent: false,
  takes: "any",
  at: "ann",
  excluded: [],
  ...of,
});
const queue = (capacity = Number.POSITIVE_INFINITY): Queue => new WaitingQueue(capacity);
const names = (wakes: readonly Wake<string, string>[]): string[] => wakes.map(({ waiter }) => waiter);

/** Frees slots, and serves whoever is woken, until nobody is. */
function served(of: Queue, at = "ann"): string[] {
  const order: string[] = [];
  for (let [next] = names(of.free(at)); next !== undefined; [next] = names(of.free(at))) {
    order.push(next);
    of.leave(next);
  }
  return order;
}

describe("the queue of waiting dispatches", () => {
  it("serves the first that came first", () => {
    const line = queue();
    for (const name of ["a", "b", "c"]) line.wait(name, wish());
    expect(served(line)).toEqual(["a", "b", "c"]);
  });

  it("serves those that lost a consumer before the others, and a higher priority before a lower one", () => {
    const line = queue();
    line.wait("ordinary", wish());
    line.wait("lost", wish({ urgent: true }));
    line.wait("also lost", wish({ urgent: true }));
    line.wait("important", wish({ priority: 1 }));
    line.wait("most important", wish({ priority: HIGHEST_PRIORITY }));
    expect(served(line)).toEqual(["most important", "important", "lost", "also lost", "ordinary"]);
  });

  it("lets nobody wait beyond its capacity; one that is to choose again keeps its place", () => {
    const line = queue(2);
    expect([line.wait("a", wish()), line.wait("b", wish()), line.wait("c", wish())]).toEqual([
      true,
      true,
      false,
    ]);
    line.free("ann");
    expect([line.size, line.wait("c", wish()), line.wait("a", wish())]).toEqual([2, false, true]);
  });

  it("keeps the place of one that did not use its slot, and offers the slot on to those behind it", () => {
    const line = queue();
    for (const name of ["a", "b", "c"]) line.wait(name, wish());
    expect(names(line.free("ann"))).toEqual(["a"]);
    line.wait("a", wish());
    expect(names(line.passOn("a", true))).toEqual(["b"]);
    line.wait("b", wish());
    expect(names(line.passOn("b", true))).toEqual(["c"]);
    line.wait("c", wish());
    expect(names(line.passOn("c", true))).toEqual([]);
    expect(served(line)).toEqual(["a", "b", "c"]);
  });

  it("offers a slot that goes from one to the next to those that came in between, too", () => {
    const line = queue();
    for (const name of ["a", "b"]) line.wait(name, wish({ takes: "chooses" }));
    line.free("ann");
    line.wait("late and urgent", wish({ urgent: true }));
    line.wait("a", wish());
    expect(names(line.passOn("a", true))).toEqual(["b"]);
    line.wait("b", wish());
    expect(names(line.passOn("b", true))).toEqual(["late and urgent"]);
  });

  it("offers a consumer's slot to those that insist on it, and to none that insists on another", () => {
    const line = queue();
    line.wait("for ann", wish({ takes: "insists", at: "ann" }));
    line.wait("for bob", wish({ takes: "insists", at: "bob" }));
    line.wait("for bob, too", wish({ takes: "insists", at: "bob" }));
    expect([served(line, "bob"), served(line, "ann")]).toEqual([["for bob", "for bob, too"], ["for ann"]]);
  });

  it("offers no slot to a dispatch that has failed on that consumer", () => {
    const line = queue();
    line.wait("a", wish({ excluded: ["ann"] }));
    line.wait("b", wish());
    expect(names(line.free("ann"))).toEqual(["b"]);
  });

  it("wakes as many as a new member has slots for, and all that had nobody to choose", () => {
    const line = queue();
    for (const name of ["a", "b", "c"]) line.wait(name, wish());
    line.wait("nobody", wish({ at: undefined }));
    line.wait("chooses", wish({ takes: "chooses" }));
    expect(line.joined("bob", 2)).toEqual([
      { waiter: "a", offer: "bob" },
      { waiter: "b", offer: "bob" },
      { waiter: "nobody", offer: undefined },
      { waiter: "chooses", offer: undefined },
    ]);
  });

  it("wakes those that chose a member that is gone", () => {
    const line = queue();
    line.wait("a", wish());
    line.wait("b", wish({ at: "bob" }));
    expect(names(line.left("ann"))).toEqual(["a"]);
  });

  it("costs the same for each slot, however many wait", () => {
    // Steps, not time: each look at a place counts.
    const looks = (waiting: number): number => {
      let count = 0;
      const line = queue();
      for (let n = 0; n < waiting; n++)
        line.wait(String(n), {
          ...wish(),
          get excluded() {
            count++;
            return [];
          },
        });
      expect(served(line)).toHaveLength(waiting);
      return count;
    };
    expect(looks(10_000)).toBe(100 * looks(100));
  });
});

// A naive queue: one list, sorted anew for each slot.
interface Naive {
  readonly name: string;
  wish: Demand<string>;
  readonly came: number;
  woken: boolean;
  offer: string | undefined;
  offered: Set<number>;
}

type Step =
  | { readonly do: "wait"; readonly wish: Demand<string> }
  | { readonly do: "free"; readonly at: string }
  | { readonly do: "serve" | "decline"; readonly who: number }
  | { readonly do: "leave"; readonly who: number };

const consumers = fc.constantFrom("ann", "bob");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant("wait" as const),
    wish: fc.record({
      priority: fc.nat({ max: 2 }),
      urgent: fc.boolean(),
      takes: fc.constantFrom<Takes>("any", "insists", "chooses"),
      at: consumers,
      excluded: fc.constant([]),
    }),
  }),
  fc.record({ do: fc.constant("free" as const), at: consumers }),
  fc.record({ do: fc.constantFrom("serve" as const, "decline" as const), who: fc.nat() }),
  fc.record({ do: fc.constant("leave" as const), who: fc.nat() }),
);

describe("whatever waits, comes free and is declined", () => {
  it("each slot is offered to all that may have it, one at a time, in order, until one takes it [D19]", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const line = queue();
        const all: Naive[] = [];
        const slots: { readonly at: string; readonly n: number; holder: Naive | undefined }[] = [];
        let came = 0;
        const order = (a: Naive, b: Naive): number =>
          b.wish.priority - a.wish.priority ||
          Number(b.wish.urgent) - Number(a.wish.urgent) ||
          a.came - b.came;
        const eligible = (slot: (typeof slots)[0]): Naive[] =>
          all
            .filter(({ wish: { takes, at } }) => takes !== "insists" || at === slot.at)
            .filter((one) => !one.woken && !one.offered.has(slot.n))
            .sort(order);
        const wakes = (
          slot: (typeof slots)[0],
          given: readonly Wake<string, string>[],
          fresh: boolean,
        ): void => {
          const may = eligible(slot);
          expect(given.length).toBe(Math.min(1, may.length));
          slot.holder = all.find(({ name }) => name === given[0]?.waiter);
          if (slot.holder === undefined) return;
          expect(may).toContain(slot.holder);
          if (fresh && may.every(({ wish: { takes } }) => takes !== "insists"))
            expect(slot.holder).toBe(may[0]);
          slot.holder.woken = true;
          slot.holder.offer = slot.at;
          for (const { n } of slots) if (n <= slot.n) slot.holder.offered.add(n);
        };
        const decide = (one: Naive, isFree: boolean): void => {
          const slot = slots.find(({ holder }) => holder === one);
          const given = line.passOn(one.name, isFree);
          one.woken = false;
          if (slot === undefined || !isFree) {
            expect(given).toEqual([]);
            if (slot !== undefined) slot.holder = undefined;
          } else wakes(slot, given, false);
        };
        for (const one of steps) {
          if (one.do === "wait") {
            const name = `d${came}`;
            const known = {
              name,
              wish: one.wish,
              came: came++,
              woken: false,
              offer: undefined,
              offered: new Set<number>(),
            };
            all.push(known);
            expect(line.wait(name, one.wish)).toBe(true);
          } else if (one.do === "free") {
            const slot = { at: one.at, n: slots.length, holder: undefined };
            slots.push(slot);
            wakes(slot, line.free(one.at), true);
          } else {
            const among = one.do === "leave" ? all : all.filter(({ woken }) => woken);
            const chosen = among[one.who % Math.max(1, among.length)];
            if (chosen === undefined) continue;
            if (one.do === "decline") {
              line.wait(chosen.name, chosen.wish);
              decide(chosen, true);
            } else {
              decide(chosen, one.do === "leave");
              line.leave(chosen.name);
              all.splice(all.indexOf(chosen), 1);
            }
          }
          expect(line.size).toBe(all.length);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
