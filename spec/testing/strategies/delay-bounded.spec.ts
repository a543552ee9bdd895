// Delay-bounded: never more delays than allowed, and each of the places where they may be is as likely.

import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { delayBounded } from "../../../lib/testing/strategies/delay-bounded.js";
import type { Chooser, PossibleStep, SearchHistory } from "../../../lib/testing/strategies/strategy.js";
import {
  chains,
  explore,
  failures,
  programs,
  run,
  shares,
  slack,
  type Toy,
  type ToyRun,
} from "../support/toy.js";

/** The tasks that were overtaken by one that became possible later. */
function overtaken({ picks }: ToyRun): number {
  return new Set(picks.flatMap(({ tasks, index }) => tasks.slice(0, index))).size;
}

const none: SearchHistory = { longest: 1, actors: 2 };
const other = (): PossibleStep => ({ kind: "run", actor: 1, rank: undefined });

describe("delay-bounded scheduling", () => {
  test.prop([programs, fc.nat({ max: 5 }), fc.integer({ min: 0 })])(
    "lets no more tasks be overtaken than it may delay",
    (program, delays, seed) => {
      for (const ran of explore(delayBounded({ delays }), program, 8, seed)) {
        expect(overtaken(ran)).toBeLessThanOrEqual(delays);
      }
    },
  );

  test.prop([programs, fc.integer({ min: 0 })])(
    "is the ordinary schedule without delays",
    (program, seed) => {
      const [ran] = [...explore(delayBounded({ delays: 0 }), program, 1, seed)];
      expect(ran?.picks.every(({ index }) => index === 0)).toBe(true);
    },
  );

  test("puts a delayed task behind all others, also those that become possible later, until it has run", () => {
    const program = (): Toy => chains({ a: 1, b: 2, c: 2 });
    const orders = shares(explore(delayBounded({ delays: 1 }), program, 500), (ran) => ran.steps.join(" "));
    expect([...orders.keys()].sort()).toEqual(
      [
        "a:1 b:2 c:2 b:1 c:1",
        "a:1 b:2 c:2 c:1 b:1",
        "a:1 b:2 b:1 c:2 c:1",
        "a:1 c:2 c:1 b:2 b:1",
        "b:2 c:2 b:1 c:1 a:1",
      ].sort(),
    );
  });

  test("needs one delay for a step that must come last, however many others there are", () => {
    const late = (): Toy => {
      let last = "";
      return {
        actors: {
          late: (_message, ctx) => {
            if (last === "1") ctx.fail();
          },
          chain: (message, ctx) => {
            last = message;
            if (message !== "1") ctx.send("chain", String(Number(message) - 1));
          },
        },
        sent: [
          ["late", "go"],
          ["chain", "30"],
        ],
      };
    };
    expect(failures(delayBounded({ delays: 0 }), late, 1)).toBe(0);
    // The delay must come at the first of 31 steps, the only one at which `late` is the first.
    const schedules = 4_000;
    const share = failures(delayBounded({ delays: 1 }), late, schedules);
    expect(Math.abs(share - 1 / 31)).toBeLessThan(slack(1 / 31, schedules));
  });

  test.each([
    [1, { a: 2, b: 1, c: 2 }],
    [2, { a: 2, b: 1, c: 2 }],
    [3, { a: 2, b: 2 }],
  ])("has, with %i delays, each place for each of them as likely: %j", (delays, lengths) => {
    const schedules = 15_000;
    const expected = byPlaces(lengths, delays);
    const found = shares(
      explore(delayBounded({ delays }), () => chains(lengths), schedules),
      (ran) => ran.steps.map((step) => step[0]).join(""),
    );
    for (const order of found.keys()) expect(expected.has(order), order).toBe(true);
    for (const [order, probability] of expected) {
      const off = Math.abs((found.get(order) ?? 0) - probability);
      expect(off, order).toBeLessThan(slack(probability, schedules));
    }
  });

  test("keeps a delay for the next choice when there is none at its place", () => {
    const lead = 50;
    // A single actor for a long time, then two: the ordinary order of these must not be the usual one.
    const program = (): Toy => ({
      actors: {
        lead: (message, ctx) => {
          if (message !== "1") ctx.send("lead", String(Number(message) - 1));
          else for (const name of ["x", "y"]) ctx.send(name, "1");
        },
        x: () => undefined,
        y: () => undefined,
      },
      sent: [["lead", String(lead)]],
    });
    const found = shares(explore(delayBounded({ delays: 1 }), program, 1_000), (ran) =>
      ran.steps.slice(lead).join(" "),
    );
    expect(found.get("y:1 x:1")).toBeGreaterThan(0.9);
  });

  test("delays no task for ever: one that others wait for in a loop runs in the end", () => {
    const chooser = delayBounded({ delays: 1 }).begin(0, new Random(1), none) as Chooser;
    const delayed: PossibleStep = { kind: "run", actor: 0, rank: undefined };
    let overtaken = 0;
    for (; overtaken < 5_000; overtaken++) {
      const next = other();
      if (chooser.pick([delayed, next]) === 0) break;
      chooser.ran?.(next, undefined);
    }
    expect(overtaken).toBe(1_000);
  });

  test("is as patient as half the longest schedule is long, when that is more", () => {
    const chooser = delayBounded({ delays: 0 }).begin(0, new Random(1), {
      longest: 5_000,
      actors: 2,
    }) as Chooser;
    const delayed: PossibleStep = { kind: "run", actor: 0, rank: 0 };
    let overtaken = 0;
    while (overtaken < 5_000 && chooser.pick([delayed, other()]) !== 0) overtaken++;
    expect(overtaken).toBe(2_500);
  });

  test("has as much patience with one task as with the one before", () => {
    const chooser = delayBounded({ delays: 0 }).begin(0, new Random(1), none) as Chooser;
    for (let one = 0; one < 5; one++) {
      const delayed: PossibleStep = { kind: "run", actor: 0, rank: one };
      for (let i = 0; i < 900; i++) expect(chooser.pick([delayed, other()])).toBe(1);
    }
  });

  test("is not the ordinary schedule where it may delay", () => {
    const program = (): Toy => chains({ a: 3, b: 3, c: 3 });
    const ordinary = run(program).steps.join(" ");
    const found = shares(explore(delayBounded(), program, 500), (ran) => ran.steps.join(" "));
    expect(found.get(ordinary) ?? 0).toBeLessThan(0.2);
  });
});

/** Two queues and every list of places, each as likely: probability of each schedule. */
function byPlaces(lengths: Readonly<Record<string, number>>, delays: number): Map<string, number> {
  const total = Object.values(lengths).reduce((sum, length) => sum + length, 0);
  const found = new Map<string, number>();
  const lists = total ** delays;
  for (let list = 0; list < lists; list++) {
    const places = Array.from({ length: delays }, (_, i) => 1 + (Math.floor(list / total ** i) % total));
    const left = { ...lengths };
    const front = Object.keys(lengths);
    const back: string[] = [];
    let schedule = "";
    while (schedule.length < total) {
      for (const place of places) {
        if (place === schedule.length + 1 && front.length + back.length > 1)
          back.push((front.shift() ?? back.shift()) as string);
      }
      const next = (front.shift() ?? back.shift()) as string;
      schedule += next;
      left[next] = (left[next] as number) - 1;
      if ((left[next] as number) > 0) front.push(next);
    }
    found.set(schedule, (found.get(schedule) ?? 0) + 1 / lists);
  }
  return found;
}
