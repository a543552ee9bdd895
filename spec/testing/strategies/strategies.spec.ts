// What holds of every strategy with chance in it, and the random walk.

import { fc, test } from "@fast-check/vitest";
import { OptionError } from "signalbox";
import { describe, expect } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { delayBounded } from "../../../lib/testing/strategies/delay-bounded.js";
import { pct } from "../../../lib/testing/strategies/pct.js";
import { portfolio } from "../../../lib/testing/strategies/portfolio.js";
import { pos } from "../../../lib/testing/strategies/pos.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import type { Chooser, PossibleStep, SearchStrategy } from "../../../lib/testing/strategies/strategy.js";
import { FAULT_KINDS, type FaultRateOptions } from "../../../lib/testing/strategies/swarm.js";
import { chains, explore, programs, run, shares, slack, type Toy } from "../support/toy.js";

const factories: readonly (readonly [string, (options?: FaultRateOptions) => SearchStrategy])[] = [
  ["random walk", randomWalk],
  ["PCT(3)", pct],
  ["POS", pos],
  ["delay-bounded(3)", delayBounded],
];
const strategies: typeof factories = [...factories, ["portfolio", () => portfolio()]];

describe.each(strategies)("%s", (_name, make) => {
  test.prop([programs, fc.integer({ min: 0 })], { numRuns: 60 })(
    "runs every program to its end, with choices that are the same from the same seed",
    (program, seed) => {
      const choices = (): (readonly number[])[] =>
        [...explore(make(), program, 6, seed)].map((ran) => {
          expect(ran.ended).toBe(true);
          return ran.choices;
        });
      expect(choices()).toEqual(choices());
    },
  );

  test("goes other ways from other seeds, and in other schedules", () => {
    const program = (): Toy => chains({ a: 4, b: 4, c: 4 });
    const orders = (seed: number): string[] =>
      [...explore(make(), program, 40, seed)].map((ran) => ran.steps.join(" "));
    expect(orders(1)).not.toEqual(orders(2));
    expect(new Set(orders(1)).size).toBeGreaterThan(10);
  });

  test("lets no task wait for ever while others go round in circles", () => {
    for (let seed = 0; seed < 4_000; seed++) {
      const chooser = make().begin(seed, new Random(seed), { longest: 20, actors: 2 }) as Chooser;
      const waits: PossibleStep = { kind: "run", actor: 0, rank: undefined };
      let overtaken = 0;
      for (let index = 1; index !== 0; overtaken++) {
        const tasks: PossibleStep[] = [waits, { kind: "run", actor: 1, rank: undefined }];
        index = chooser.pick(tasks);
        chooser.ran?.(tasks[index] as PossibleStep, undefined);
      }
      expect(overtaken).toBeLessThan(1_050);
    }
  });

  test("ends a program that ends when everyone has a turn", () => {
    const program = (): Toy => {
      let ready = false;
      return {
        actors: {
          asker: (_message, ctx) => {
            if (!ready) ctx.send("echo", "still not?");
          },
          echo: (_message, ctx) => ctx.send("asker", "no"),
          worker: () => {
            ready = true;
          },
          // Takes the change points of PCT and the delays to itself now and then.
          prelude: (message, ctx) => {
            if (message !== "1") ctx.send("prelude", String(Number(message) - 1));
          },
        },
        sent: [
          ["prelude", "60"],
          ["asker", "go"],
          ["worker", "work"],
        ],
      };
    };
    for (const ran of explore(make(), program, 300, 1, 6_000)) expect(ran.ended).toBe(true);
  });

  test.prop(
    [
      fc.integer(),
      fc.integer({ min: 2, max: 1_000 }),
      fc.oneof(fc.constantFrom(...FAULT_KINDS.map((kind) => `${kind}:a`)), fc.string()),
    ],
    { numRuns: 200 },
  )("draws nothing outside 0 to n - 1", (seed, n, label) => {
    const chooser = make().begin(0, new Random(seed), { longest: 0, actors: 0 }) as Chooser;
    for (let i = 0; i < 20; i++) {
      const drawn = chooser.draw(n, label);
      expect(Number.isInteger(drawn) && drawn >= 0 && drawn < n).toBe(true);
    }
  });
});

describe.each(factories)("%s", (name, make) => {
  test("has faults at the rates it is given, and calls itself by its name", () => {
    const strategy = make({ rates: { crash: 1, drop: 0 } });
    expect(strategy.name).toBe(name);
    for (let index = 0; index < 50; index++) {
      const chooser = strategy.begin(index, new Random(1, index), { longest: 0, actors: 0 }) as Chooser;
      expect(chooser.draw(2, "crash:a")).toBe(1);
      expect(chooser.draw(2, "drop:a")).toBe(0);
    }
  });

  test("has other rates in other schedules when it is given none", () => {
    const crashes = new Set<number>();
    for (let index = 0; index < 20; index++) {
      const chooser = make().begin(index, new Random(1, index), { longest: 0, actors: 0 }) as Chooser;
      crashes.add(Array.from({ length: 500 }, () => chooser.draw(2, "crash:a")).filter((n) => n > 0).length);
    }
    expect(crashes.has(0)).toBe(true);
    expect(crashes.size).toBeGreaterThan(5);
  });

  test("refuses rates that are none", () => {
    expect(() => make({ rates: { crash: 2 } })).toThrow(OptionError);
    expect(() => make({ rates: { flood: 0.1 } as FaultRateOptions["rates"] & object })).toThrow(
      "rates.flood",
    );
  });
});

describe.each([
  ["PCT(3)", pct],
  ["POS", pos],
])("%s", (_name, make) => {
  test("is a random walk for the rest of a schedule in which it lost its patience", () => {
    const picks = 2_000;
    const chooser = make().begin(0, new Random(3), { longest: 20, actors: 2 }) as Chooser;
    const task = (actor: number): PossibleStep => ({ kind: "run", actor, rank: undefined });
    const oldest = task(0);
    // Nothing is ever run: the same task is the oldest in every pick.
    const pick = (): number => chooser.pick([oldest, task(1)]);
    for (let i = 0; i < 1_001; i++) pick();
    const second = Array.from({ length: picks }, pick).filter((index) => index === 1).length;
    expect(Math.abs(second / picks - 1 / 2)).toBeLessThan(slack(1 / 2, picks));
  });
});

describe("an option", () => {
  test.each<[string, unknown, (value: never) => unknown]>([
    ["depth", 0, (depth) => pct({ depth })],
    ["depth", 1.5, (depth) => pct({ depth })],
    ["depth", "3", (depth) => pct({ depth })],
    ["delays", -1, (delays) => delayBounded({ delays })],
    ["delays", Number.POSITIVE_INFINITY, (delays) => delayBounded({ delays })],
  ])("%s of %j is refused", (path, value, make) => {
    expect(() => make(value as never)).toThrow(OptionError);
    expect(() => make(value as never)).toThrow(`${path} must be a whole number`);
  });

  test("has the smallest that is allowed, and shows in the name", () => {
    expect(pct({ depth: 1 }).name).toBe("PCT(1)");
    expect(delayBounded({ delays: 0 }).name).toBe("delay-bounded(0)");
  });
});

describe("a random walk", () => {
  test("picks each possible task as often", () => {
    const runs = 6_000;
    const orders = shares(
      explore(randomWalk(), () => chains({ a: 1, b: 1, c: 1 }), runs),
      (ran) => ran.steps.join(" "),
    );
    expect(orders.size).toBe(6);
    for (const share of orders.values()) expect(Math.abs(share - 1 / 6)).toBeLessThan(slack(1 / 6, runs));
  });

  test("needs no footprints, and is not called for steps", () => {
    const strategy = randomWalk();
    expect(strategy.observes).toBeFalsy();
    expect(strategy.begin(0, new Random(1), { longest: 0, actors: 0 })?.ran).toBeUndefined();
  });

  test("differs from the ordinary schedule, which runs tasks in the order in which they became possible", () => {
    expect(run(() => chains({ a: 2, b: 1, c: 2 })).steps).toEqual(["a:2", "b:1", "c:2", "a:1", "c:1"]);
  });
});
