import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  decide,
  type GatesEvent,
  type Holder,
  initial,
} from "../../../lib/pipeline/runtime/gates-machine.js";

const holder = (name: string): Holder => ({ name });
const [a, b, c, d] = ["a", "b", "c", "d"].map(holder) as [Holder, Holder, Holder, Holder];

/** Gates that are fed events one by one; gives those who were let in. */
function gates(inFlight: number, routes: Record<string, number>) {
  const state = initial({ inFlight, routes: new Map(Object.entries(routes)) });
  return {
    state,
    feed: (event: GatesEvent) => decide(state, event)[1].map(({ holder: one }) => one),
  };
}

describe("gates", () => {
  test("let in as many workers as the whole execution may have, and the next one when one leaves [Y20]", () => {
    const { feed } = gates(2, { r: 10 });
    expect(feed({ type: "enter", holder: a, route: "r" })).toEqual([a]);
    expect(feed({ type: "enter", holder: b, route: "r" })).toEqual([b]);
    expect(feed({ type: "enter", holder: c, route: "r" })).toEqual([]);
    expect(feed({ type: "leave", holder: a })).toEqual([c]);
  });

  test("let in as many workers of a route as it may have, and others past those that wait", () => {
    const { feed } = gates(10, { r: 1, s: 1 });
    expect(feed({ type: "enter", holder: a, route: "r" })).toEqual([a]);
    expect(feed({ type: "enter", holder: b, route: "r" })).toEqual([]);
    expect(feed({ type: "enter", holder: c, route: "s" })).toEqual([c]);
    expect(feed({ type: "limit", route: "r", limit: 2 })).toEqual([b]);
  });

  test("keep no permit for a worker that gave up waiting (bug 23)", () => {
    const { feed, state } = gates(1, { r: 10 });
    feed({ type: "enter", holder: a, route: "r" });
    feed({ type: "enter", holder: b, route: "r" });
    expect(feed({ type: "leave", holder: b })).toEqual([]);
    expect(feed({ type: "leave", holder: a })).toEqual([]);
    expect([state.holding.size, state.waiting.size]).toEqual([0, 0]);
    expect(feed({ type: "enter", holder: c, route: "r" })).toEqual([c]);
  });

  test("take a permit back once, however often its holder leaves (bug 24)", () => {
    const { feed } = gates(1, { r: 10 });
    feed({ type: "enter", holder: a, route: "r" });
    for (const one of [b, c, d]) feed({ type: "enter", holder: one, route: "r" });
    expect(feed({ type: "leave", holder: a })).toEqual([b]);
    expect(feed({ type: "leave", holder: a })).toEqual([]);
  });

  test("keep one permit for each route that has none, so that a slow route does not starve others (bug 27)", () => {
    const { feed } = gates(3, { slow: 10, fast: 10 });
    for (const one of [a, b, c]) feed({ type: "enter", holder: one, route: "slow" });
    expect(feed({ type: "enter", holder: d, route: "fast" })).toEqual([d]);
  });
});

test("gates lose no permit and give none twice, whatever happens, and admit every worker that may work [Y21] (bug 25)", () => {
  const events = fc.array(
    fc.record({
      what: fc.constantFrom("enter", "enter", "enter", "leave", "leave", "limit"),
      who: fc.nat({ max: 19 }),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 4 }),
      events,
      (inFlight, concurrencies, plan) => {
        const routes = new Map(concurrencies.map((most, i) => [`r${i}`, most]));
        const state = initial({ inFlight, routes });
        const holders = Array.from({ length: 20 }, (_, i) => ({
          one: holder(String(i)),
          route: `r${i % concurrencies.length}`,
        }));
        // The model: who asked, who is in.
        const asked = new Set<Holder>();
        const inside = new Set<Holder>();
        const take = (event: GatesEvent): void => {
          for (const { holder: one } of decide(state, event)[1]) {
            expect(asked.delete(one) && !inside.has(one)).toBe(true);
            inside.add(one);
          }
        };
        for (const { what, who, limit } of plan) {
          const { one, route } = holders[who] as (typeof holders)[number];
          if (what === "enter" && !asked.has(one) && !inside.has(one)) {
            asked.add(one);
            take({ type: "enter", holder: one, route });
          } else if (what === "leave") {
            asked.delete(one);
            inside.delete(one);
            take({ type: "leave", holder: one });
          } else if (what === "limit") take({ type: "limit", route, limit });
          expect(inside.size).toBeLessThanOrEqual(inFlight);
          expect([...state.holding.keys()]).toEqual([...inside]);
          expect(new Set(state.waiting.keys())).toEqual(asked);
        }
        // Those who are in leave one after another: everybody who waits comes in at last.
        for (let steps = 0; inside.size > 0 && steps < 1_000; steps++) {
          const [one] = inside;
          inside.delete(one as Holder);
          take({ type: "leave", holder: one as Holder });
        }
        expect([asked.size, inside.size, state.holding.size]).toEqual([0, 0, 0]);
      },
    ),
  );
});
