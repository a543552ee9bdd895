// PCT: what it promises of bugs by their depth, and that its schedules are distributed as the paper's algorithm has it.

import { describe, expect, test } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { pct } from "../../../lib/testing/strategies/pct.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import type { Chooser, PossibleStep } from "../../../lib/testing/strategies/strategy.js";
import { proving } from "../../support/proof.js";
import { chains, explore, failures, run, shares, slack, type Toy } from "../support/toy.js";

/** The paper's bound for a program, from its ordinary run. */
function bound(make: () => Toy, depth: number): number {
  const { actors, steps } = run(make);
  return 1 / (actors * steps.length ** (depth - 1));
}

/** An actor that sends itself so many messages, and does something on some of them. */
const busy =
  (name: string, steps: number, at: Readonly<Record<number, () => void>> = {}) =>
  (message: string, ctx: { send(to: string, message: string): void }): void => {
    const number = Number(message);
    at[number]?.();
    if (number < steps) ctx.send(name, String(number + 1));
  };
const begun = (...names: string[]): readonly (readonly [string, string])[] =>
  names.map((name) => [name, "1"]);

/** Depth 1: the reader comes before all steps of the one that prepares what it reads. */
const order = (): Toy => {
  let prepared = false;
  return {
    actors: {
      writer: busy("writer", 8, {
        8: () => {
          prepared = true;
        },
      }),
      reader: (_message, ctx) => {
        if (prepared) ctx.fail();
      },
      other: busy("other", 8),
    },
    sent: begun("reader", "writer", "other"),
  };
};

/** Depth 2: one of two steps of the other comes between two steps that should be one. */
const atomicity = (): Toy => {
  let between = false;
  return {
    actors: {
      owner: (message, ctx) => {
        if (message === "1") ctx.send("owner", "2");
        else if (message === "2") {
          between = true;
          ctx.send("owner", "3");
        } else between = false;
      },
      thief: (_message, ctx) => {
        if (between) ctx.fail();
      },
      other: busy("other", 4),
    },
    sent: begun("thief", "owner", "other"),
  };
};

/** Depth 3: the second step of the one comes between two of the other, and its third only later. */
const interlocked = (): Toy => {
  let runner = 0;
  let between = false;
  const at = (step: number): [number, () => void] => [
    step,
    () => {
      runner = step;
    },
  ];
  return {
    actors: {
      runner: busy("runner", 7, Object.fromEntries([4, 5, 6].map(at))),
      watcher: (message, ctx) => {
        if (message === "2") between = runner === 4;
        if (message === "3" && between && runner === 6) ctx.fail();
        if (message !== "4") ctx.send("watcher", String(Number(message) + 1));
      },
      other: busy("other", 2),
    },
    sent: begun("watcher", "runner", "other"),
  };
};

describe("PCT", () => {
  test.each([
    [1, order, proving ? 2_000 : 1_000],
    [2, atomicity, proving ? 6_000 : 2_000],
    [3, interlocked, proving ? 20_000 : 6_000],
  ])("finds a bug of depth %i at least as often as 1 / (n * k^(d-1))", (depth, program, schedules) => {
    const promised = bound(program, depth);
    expect(failures(pct({ depth }), program, schedules)).toBeGreaterThan(promised);
    // And it is no shallower bug than that.
    if (depth > 1) expect(failures(pct({ depth: depth - 1 }), program, schedules)).toBe(0);
  });

  test("finds a bug that needs one actor to be overtaken by all others, where a random walk does not", () => {
    const schedules = 2_000;
    // The writer is at its end before the reader has begun: one of the two orders of these two actors.
    const share = failures(pct({ depth: 1 }), order, schedules);
    expect(Math.abs(share - 1 / 2)).toBeLessThan(slack(1 / 2, schedules));
    expect(failures(randomWalk(), order, schedules)).toBeLessThan(0.01);
  });

  test("runs an actor as long as it can, at depth 1", () => {
    const schedules = 6_000;
    const orders = shares(
      explore(pct({ depth: 1 }), () => chains({ a: 3, b: 3, c: 3 }), schedules),
      (ran) => ran.steps.map((step) => step[0]).join(""),
    );
    expect([...orders.keys()].sort()).toEqual([
      "aaabbbccc",
      "aaacccbbb",
      "bbbaaaccc",
      "bbbcccaaa",
      "cccaaabbb",
      "cccbbbaaa",
    ]);
    for (const share of orders.values())
      expect(Math.abs(share - 1 / 6)).toBeLessThan(slack(1 / 6, schedules));
  });

  test.each([
    [2, { a: 2, b: 2, c: 1 }],
    [3, { a: 2, b: 2, c: 1 }],
    [3, { a: 3, b: 2 }],
    [4, { a: 1, b: 3 }],
  ])(
    "has, at depth %i, the schedules of the paper's algorithm as often as that has: %j",
    (depth, lengths) => {
      const schedules = proving ? 15_000 : 5_000;
      const expected = byThePaper(lengths, depth);
      const found = shares(
        explore(pct({ depth }), () => chains(lengths), schedules),
        (ran) => ran.steps.map((step) => step[0]).join(""),
      );
      for (const order of found.keys()) expect(expected.has(order), order).toBe(true);
      for (const [order, probability] of expected) {
        const off = Math.abs((found.get(order) ?? 0) - probability);
        expect(off, order).toBeLessThan(slack(probability, schedules));
      }
    },
  );

  test("takes a schedule to have 100 steps when none has run", () => {
    // At a change point the first of two actors falls behind: how many steps it had run tells where the point was.
    const program = (): Toy => chains({ a: 300, b: 300 });
    const strategy = pct({ depth: 2 });
    let last = 0;
    for (let index = 0; index < 600; index++) {
      const chooser = strategy.begin(index, new Random(1, index), { longest: 0, actors: 0 }) as Chooser;
      const { steps } = run(program, chooser);
      const at = steps.findIndex((step) => step[0] !== steps[0]?.[0]);
      expect(at).toBeLessThanOrEqual(100);
      last = Math.max(last, at);
    }
    expect(last).toBeGreaterThan(95);
  });

  test("tries the tasks of one actor in any order, and each keeps its place", () => {
    const schedules = 3_000;
    const strategy = pct({ depth: 1 });
    const counts = new Map<string, number>();
    for (let index = 0; index < schedules; index++) {
      const chooser = strategy.begin(index, new Random(1, index), { longest: 3, actors: 1 }) as Chooser;
      const tasks: PossibleStep[] = [task("resume"), task("resume"), task("run")];
      const names = new Map(tasks.map((one, i) => [one, "xyz"[i]]));
      let order = "";
      while (tasks.length > 1) order += names.get(tasks.splice(chooser.pick(tasks), 1)[0] as PossibleStep);
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    for (const many of counts.values())
      expect(Math.abs(many / schedules - 1 / 6)).toBeLessThan(slack(1 / 6, schedules));
  });

  test("lets a task wait for k others of its actor with probability 1 / (k + 1)", () => {
    const schedules = 5_000;
    const others = 9;
    let last = 0;
    for (let index = 0; index < schedules; index++) {
      const chooser = pct({ depth: 1 }).begin(index, new Random(1, index), {
        longest: 10,
        actors: 1,
      }) as Chooser;
      const waits = task("resume");
      let left = others;
      while (left > 0 && chooser.pick([waits, task("run")]) === 1) left--;
      if (left === 0) last++;
    }
    const probability = 1 / (others + 1);
    expect(Math.abs(last / schedules - probability)).toBeLessThan(slack(probability, schedules));
  });
});

function task(kind: PossibleStep["kind"]): PossibleStep {
  return { kind, actor: 1, rank: undefined };
}

/** Every order of priorities and every place of the change points, each as likely: probability of each schedule. */
function byThePaper(lengths: Readonly<Record<string, number>>, depth: number): Map<string, number> {
  const names = Object.keys(lengths);
  const total = Object.values(lengths).reduce((sum, length) => sum + length, 0);
  const places = (many: number): number[][] =>
    many === 0
      ? [[]]
      : places(many - 1).flatMap((rest) => Array.from({ length: total }, (_, i) => [i + 1, ...rest]));
  const orders = (rest: readonly string[]): string[][] =>
    rest.length === 0
      ? [[]]
      : rest.flatMap((name) => orders(rest.filter((other) => other !== name)).map((more) => [name, ...more]));
  const found = new Map<string, number>();
  const all = orders(names).flatMap((order) => places(depth - 1).map((at) => ({ order, at })));
  for (const { order, at } of all) {
    const left = { ...lengths };
    let queue = order;
    let schedule = "";
    while (schedule.length < total) {
      const next = queue.find((name) => (left[name] as number) > 0) as string;
      schedule += next;
      left[next] = (left[next] as number) - 1;
      if (at.includes(schedule.length)) queue = [...queue.filter((name) => name !== next), next];
    }
    found.set(schedule, (found.get(schedule) ?? 0) + 1 / all.length);
  }
  return found;
}
