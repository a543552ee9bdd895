// The exhaustive search against counting: every schedule, one of each kind, or all with few deviations.

import { fc, test } from "@fast-check/vitest";
import { OptionError } from "signalbox";
import { describe, expect } from "vitest";
import { Random } from "../../../lib/testing/kit/random.js";
import { type ExhaustiveOptions, exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import type { Chooser, PossibleStep, SearchStrategy } from "../../../lib/testing/strategies/strategy.js";
import { ExplorationDivergedError } from "../../../lib/testing/strategies/tree.js";
import { proving } from "../../support/proof.js";
import {
  abandon,
  everySchedule,
  explore,
  type Op,
  type Program,
  programs,
  type Ran,
  run,
  traceOf,
} from "../support/small.js";

const WHOLE: ExhaustiveOptions = { reduction: false };
/** Programs with more schedules than that take too long to count up. */
const MOST = 300;
/** How many programs a property is tried with: as many as that in `npm run prove`, else a third. */
const runs = (many: number): { numRuns: number } => ({ numRuns: proving ? many : Math.ceil(many / 3) });

/** As many actors as there are numbers: each takes so many messages, and does nothing about them. */
function chains(lengths: readonly number[]): Program {
  return {
    scripts: lengths.map(() => [[]]),
    start: lengths.flatMap((length, to) => Array.from({ length }, () => ({ to, tag: 0 }))),
  };
}

/** Actors that do one thing each, once, at the same time. */
function atOnce(...actors: readonly (readonly Op[])[]): Program {
  return { scripts: actors.map((ops) => [ops]), start: actors.map((_, to) => ({ to, tag: 0 })) };
}

/** In how many ways as many chains can be merged. */
function multinomial(lengths: readonly number[]): number {
  const factorial = (n: number): number => (n < 2 ? 1 : n * factorial(n - 1));
  return lengths.reduce(
    (ways, length) => ways / factorial(length),
    factorial(lengths.reduce((a, b) => a + b, 0)),
  );
}

const write: Op = { op: "write", name: "x" };
const read: Op = { op: "read", name: "x" };
const coin: Op = { op: "draw", n: 2, label: "coin" };

function choicesOf(runs: readonly Ran[]): (readonly number[])[] {
  return runs.map(({ choices }) => choices);
}

function complete(runs: readonly Ran[]): Ran[] {
  return runs.filter(({ redundant }) => !redundant);
}

function finals(runs: readonly Ran[]): string[] {
  return [...new Set(runs.map(({ final }) => final))].sort();
}

function traces(runs: readonly Ran[]): string[] {
  return [...new Set(runs.map(traceOf))].sort();
}

function counted(program: Program): Ran[] {
  const all = everySchedule(program, MOST);
  fc.pre(all !== undefined);
  return all;
}

describe("without reduction", () => {
  test.each([[[1]], [[1, 1]], [[3, 2]], [[2, 2, 2]], [[1, 1, 1, 1, 1]]])(
    "chains of %j steps have as many schedules as there are ways to merge them",
    (lengths) => {
      const runs = explore(chains(lengths), exhaustive(WHOLE));
      expect(new Set(runs.map(({ choices }) => choices.join())).size).toBe(multinomial(lengths));
      expect(runs).toHaveLength(multinomial(lengths));
    },
  );

  test("a draw multiplies by its alternatives, a random number does not", () => {
    const six: Op = { op: "draw", n: 6, label: "die" };
    expect(explore(atOnce([six, coin]), exhaustive(WHOLE))).toHaveLength(12);
    expect(explore(atOnce([six, { op: "draw", n: 256, label: "random" }]), exhaustive(WHOLE))).toHaveLength(
      6,
    );
  });

  test.prop([programs({ processes: true, draws: true, failures: true, faults: true })], runs(60))(
    "the schedules are those that counting gives, in that order, from 0 on",
    (program) => {
      const all = counted(program);
      expect(choicesOf(explore(program, exhaustive(WHOLE)))).toEqual(choicesOf(all));
    },
  );
});

describe("with reduction", () => {
  test.each([[[1, 1]], [[3, 2, 4]], [Array.from({ length: 40 }, () => 5)]])(
    "independent chains of %j steps have one schedule, the ordinary one, and nothing is given up",
    (lengths) => {
      const runs = explore(chains(lengths), exhaustive());
      expect(runs).toHaveLength(1);
      expect(runs[0]?.choices.every((choice) => choice === 0)).toBe(true);
    },
  );

  test("a race for a mailbox has a schedule for each order of the messages", () => {
    const client: Op[] = [{ op: "send", to: 0, tag: 0 }];
    const race: Program = {
      scripts: [[[]], [[], client], [[], client], [[], client], [[], client]],
      start: [1, 2, 3, 4].map((to) => ({ to, tag: 1 })),
    };
    expect(complete(explore(race, exhaustive()))).toHaveLength(24);
    expect(finals(explore(race, exhaustive()))).toHaveLength(24);
  });

  test("a send does not race with a step of the receiver that takes an earlier message", () => {
    const busy: Program = {
      scripts: [[[]], [[], [{ op: "send", to: 0, tag: 0 }]]],
      start: [
        { to: 0, tag: 0 },
        { to: 0, tag: 0 },
        { to: 1, tag: 1 },
      ],
    };
    expect(explore(busy, exhaustive(WHOLE)).length).toBeGreaterThan(1);
    expect(explore(busy, exhaustive())).toHaveLength(1);
  });

  test("readers of a name race only with a writer, not with each other", () => {
    expect(explore(atOnce([read], [read], [read]), exhaustive())).toHaveLength(1);
    expect(complete(explore(atOnce([read], [read], [write]), exhaustive()))).toHaveLength(4);
    expect(complete(explore(atOnce([write], [write], [write]), exhaustive()))).toHaveLength(6);
  });

  test("the number of a pair is no number of an actor", () => {
    const held: Program = {
      scripts: [[[]], [[], [{ op: "hold", to: 2, tag: 0 }]], [[]]],
      start: [
        { to: 1, tag: 1 },
        { to: 0, tag: 0 },
      ],
      byBirth: true,
    };
    expect(explore(held, exhaustive())).toHaveLength(1);
  });

  test("steps of one actor, or of one pair, race whatever they touch; a pair is no actor of the same number", () => {
    const orders = (...kinds: PossibleStep["kind"][]): number => {
      const strategy = exhaustive();
      for (let index = 0, orders = 0; ; index++) {
        const chooser = strategy.begin(index, new Random(index), { longest: 0, actors: 0 });
        if (chooser === undefined) return orders;
        const tasks = kinds.map((kind): PossibleStep => ({ kind, actor: 1, rank: undefined }));
        while (tasks.length > 0 && !chooser.redundant) {
          const [task] = tasks.splice(tasks.length > 1 ? chooser.pick(tasks) : 0, 1) as [PossibleStep];
          chooser.ran?.(task, { reads: new Set(), writes: new Set() });
        }
        if (!chooser.redundant) orders++;
      }
    };
    expect(orders("run", "resume")).toBe(2);
    expect(orders("deliver", "deliver")).toBe(2);
    expect(orders("run", "deliver")).toBe(1);
    expect(orders("resume", "deliver")).toBe(1);
  });

  test("a step that ends the schedule without a word depends on everything", () => {
    const strategy = exhaustive();
    const orders: string[] = [];
    for (let index = 0; ; index++) {
      const chooser = strategy.begin(index, new Random(index), { longest: 0, actors: 0 });
      if (chooser === undefined) break;
      const tasks = [1, 2, 3].map((actor): PossibleStep => ({ kind: "run", actor, rank: undefined }));
      let order = "";
      while (tasks.length > 0 && !chooser.redundant && !order.includes("1")) {
        chooser.offered?.(tasks);
        const [task] = tasks.splice(tasks.length > 1 ? chooser.pick(tasks) : 0, 1) as [PossibleStep];
        order += task.actor;
        if (task.actor !== 1) chooser.ran?.(task, { reads: new Set(), writes: new Set() });
      }
      if (!chooser.redundant) orders.push(order);
    }
    expect(orders.sort()).toEqual(["1", "21", "231", "31"]);
  });

  test("a message and a promise of one actor race", () => {
    const settled: Program = {
      scripts: [[[]], [[{ op: "settle", to: 0 }]]],
      start: [
        { to: 1, tag: 0 },
        { to: 0, tag: 0 },
      ],
    };
    expect(complete(explore(settled, exhaustive()))).toHaveLength(2);
  });

  test("every value of a draw is explored, in one order of the steps independent of it", () => {
    expect(complete(explore(atOnce([coin], [coin], []), exhaustive()))).toHaveLength(4);
  });

  test.each(["crash:process", "pause:process", "start:process", "rush:time", "drop:connection", "crash"])(
    "a fault between steps (%s) is tried in every state that independent steps can make",
    (label) => {
      // Each of the two has run or not: four states, in each of which each of the two can crash, besides no crash at all.
      const runs = complete(explore({ ...atOnce([], []), crashes: 1, label }, exhaustive()));
      const before = (crash: string): string[] =>
        runs
          .filter(({ events }) => events.some(({ label }) => label === crash))
          .map(({ events }) =>
            events.slice(
              0,
              events.findIndex(({ label }) => label === crash),
            ),
          )
          .map((events) =>
            events
              .map(({ label }) => label)
              .sort()
              .join(),
          );
      const [first, second] = ["run 0 start 0 ", "run 1 start 1 "];
      for (const crash of [`${label} 0`, `${label} 1`])
        expect([...new Set(before(crash))].sort()).toEqual(["", first, `${first},${second}`, second]);
    },
  );

  test("where no fault can strike any more, independent steps have one order again", () => {
    const schedules = (length: number): number => {
      const sends = [1, 2].flatMap((to) => Array.from({ length }, (): Op => ({ op: "send", to, tag: 0 })));
      const late: Program = {
        scripts: [[[], sends, [{ op: "timer", tag: 1 }]], [[]], [[]]],
        start: [{ to: 0, tag: 2 }],
        rushes: 1,
      };
      return explore(late, exhaustive()).length;
    };
    expect(schedules(6)).toBe(schedules(2));
  });

  test("of several tasks that could come before an early step, one is enough: nothing is given up", () => {
    // Each of the middle three has a step of its own before it races with the first; the last races with the first too.
    const middle: readonly (readonly Op[])[] = [[{ op: "peek" }], [write]];
    const y: Op = { op: "write", name: "y" };
    const race: Program = {
      scripts: [[[write, y]], middle, middle, middle, [[y]]],
      start: [0, 1, 1, 2, 2, 3, 3, 4].map((to, i, all) => ({ to, tag: all[i - 1] === to ? 1 : 0 })),
    };
    const runs = explore(race, exhaustive());
    expect(runs).toHaveLength(48);
    expect(complete(runs)).toHaveLength(48);
  });

  test("a step that makes another possible comes before it, even where the two touch nothing in common", () => {
    const program: Program = {
      scripts: [
        [[{ op: "peek" }, { op: "if", yes: { op: "kill", who: 2 }, no: { op: "settle", to: 2 } }], []],
        [],
        [[]],
        [[], [{ op: "settle", to: 0 }]],
      ],
      start: [
        { to: 3, tag: 1 },
        { to: 2, tag: 0 },
        { to: 0, tag: 1 },
        { to: 0, tag: 0 },
      ],
    };
    const runs = explore(program, exhaustive());
    expect(complete(runs)).toHaveLength(runs.length);
  });

  test("few schedules of any program are given up", () => {
    const runs = fc
      .sample(programs({ processes: true }), { numRuns: proving ? 100 : 40, seed: 7 })
      .filter((program) => everySchedule(program, MOST) !== undefined)
      .flatMap((program) => explore(program, exhaustive()));
    expect(runs.length - complete(runs).length).toBeLessThan(complete(runs).length / 10);
  });

  test.prop([programs({ processes: true, draws: true, faults: true })], runs(50))(
    "a chooser of a schedule that was given up answers 0, and does no harm",
    (program) => {
      const stubborn = (): Ran[] => {
        const strategy = exhaustive();
        const all: Ran[] = [];
        for (let index = 0; ; index++) {
          const chooser = strategy.begin(index, new Random(index), { longest: 0, actors: 0 });
          if (chooser === undefined) return all;
          if (chooser.isAnew === true) abandon(all);
          const answers: number[] = [];
          const answer = (choice: number): number => {
            if (chooser.redundant === true) answers.push(choice);
            return choice;
          };
          const ran = run(program, {
            offered: (tasks) => chooser.offered?.(tasks),
            pick: (tasks) => answer(chooser.pick(tasks)),
            draw: (...args) => answer(chooser.draw(...args)),
            ran: (task, footprint) => chooser.ran?.(task, footprint),
          });
          expect(answers.every((choice) => choice === 0)).toBe(true);
          all.push({ ...ran, redundant: chooser.redundant === true });
        }
      };
      counted(program);
      const given = explore(program, exhaustive());
      const all = stubborn();
      expect(choicesOf(complete(all))).toEqual(choicesOf(complete(given)));
      expect(all).toHaveLength(given.length);
    },
  );

  test.prop([programs({ processes: true })], runs(70))(
    "each trace is explored to its end exactly once [T7]",
    (program) => {
      const all = counted(program);
      const explored = complete(explore(program, exhaustive()));
      expect(traces(explored)).toEqual(traces(all));
      expect(explored).toHaveLength(traces(all).length);
      expect(finals(explored)).toEqual(finals(all));
    },
  );

  test.prop([programs({ processes: true, draws: true, faults: true })], runs(70))(
    "with draws and faults too no trace is left out",
    (program) => {
      const all = counted(program);
      const explored = complete(explore(program, exhaustive()));
      expect(traces(explored)).toEqual(traces(all));
      expect(explored.length).toBeLessThanOrEqual(all.length);
    },
  );

  test.prop([programs({ processes: true, draws: true, faults: true, failures: true })], runs(70))(
    "a step that fails and ends the schedule hides no failure and no state of the schedules that go on",
    (program) => {
      const all = counted(program);
      expect(finals(complete(explore(program, exhaustive())))).toEqual(finals(all));
    },
  );

  test.prop([programs({ processes: true, faults: true, byBirth: true })], runs(70))(
    "numbers that depend on the order of spawns do no harm",
    (program) => {
      const all = counted(program);
      expect(finals(complete(explore(program, exhaustive())))).toEqual(finals(all));
    },
  );

  test.prop([programs({ processes: true, draws: true })], runs(50))(
    "without footprints everything depends on everything",
    (program) => {
      const strategy = exhaustive();
      const blind: SearchStrategy = {
        ...strategy,
        begin: (...args) => {
          const chooser = strategy.begin(...args);
          return chooser && blindfold(chooser);
        },
      };
      const all = counted(program);
      expect(choicesOf(complete(explore(program, blind))).sort()).toEqual(choicesOf(all).sort());
    },
  );
});

function blindfold(chooser: Chooser): Chooser {
  return {
    offered: (tasks) => chooser.offered?.(tasks),
    pick: (tasks) => chooser.pick(tasks),
    draw: (...args) => chooser.draw(...args),
    ran: (task) => chooser.ran?.(task, undefined),
    isAnew: chooser.isAnew === true,
    get redundant() {
      return chooser.redundant === true;
    },
  };
}

describe("with reduction, once found the hard way", () => {
  const same = (program: Program): void => {
    const all = everySchedule(program, 10_000) as Ran[];
    const explored = complete(explore(program, exhaustive()));
    expect(finals(explored)).toEqual(finals(all));
    expect(traces(explored.filter(({ failed }) => !failed))).toEqual(
      traces(all.filter(({ failed }) => !failed)),
    );
  };

  const readZ: Op = { op: "read", name: "z" };
  test.each<[Op, Op]>([
    [write, { op: "settle", to: 0 }],
    [read, readZ],
  ])("a task that slept and then does something else has hidden a race: %j or %j", (yes, no) => {
    // Actor 1 touches x only in the state that its first message leaves it in, and not once its promise is settled.
    same({
      scripts: [
        [[write]],
        [[], [], [{ op: "if", yes, no }]],
        [
          [],
          [
            { op: "settle", to: 1 },
            { op: "send", to: 0, tag: 0 },
          ],
        ],
      ],
      start: [
        { to: 1, tag: 2 },
        { to: 2, tag: 1 },
      ],
    });
  });

  test("a task that slept and then is killed has hidden a race", () => {
    same({
      scripts: [
        [[]],
        [[]],
        [[], [], [{ op: "kill", who: 3 }]],
        [[{ op: "if", yes: { op: "settle", to: 2 }, no: read }], [{ op: "kill", who: 1 }]],
      ],
      start: [
        { to: 2, tag: 2 },
        { to: 3, tag: 0 },
        { to: 3, tag: 1 },
        { to: 1, tag: 0 },
      ],
    });
  });

  test("a step that depends on the early step of a race is not moved with the late one", () => {
    same({
      scripts: [
        [[], [{ op: "settle", to: 2 }]],
        [[], [{ op: "kill", who: 0 }]],
        [[], [{ op: "if", yes: { op: "settle", to: 0 }, no: { op: "hold", to: 2, tag: 0 } }]],
      ],
      start: [
        { to: 2, tag: 1 },
        { to: 0, tag: 0 },
        { to: 0, tag: 1 },
        { to: 1, tag: 1 },
      ],
    });
  });

  test("a draw of which one value kills a task and the other does not", () => {
    const kills: Op = { op: "if", yes: { op: "kill", who: 2 }, no: { op: "kill", who: 1 } };
    same({
      scripts: [[[coin, kills]], [[]], [[]]],
      start: [0, 1, 2, 0].map((to) => ({ to, tag: 0 })),
    });
  });

  test("a fault that strikes where another has spared", () => {
    same({
      scripts: [[[]], [[], [], [{ op: "timer", tag: 0 }]], [[]]],
      start: [
        { to: 1, tag: 2 },
        { to: 1, tag: 0 },
      ],
      crashes: 1,
      rushes: 1,
    });
  });

  test("a fault that a step makes possible races with the steps before it", () => {
    same({
      scripts: [
        [
          [],
          [
            { op: "timer", tag: 0 },
            { op: "kill", who: 0 },
          ],
        ],
        [[]],
      ],
      start: [
        { to: 1, tag: 0 },
        { to: 1, tag: 0 },
        { to: 0, tag: 1 },
      ],
      rushes: 1,
    });
  });

  test("a fault that a step makes impossible", () => {
    same({
      scripts: [[[], [{ op: "spawn", tag: 0 }]], [[]]],
      start: [
        { to: 0, tag: 1 },
        { to: 1, tag: 0 },
      ],
      starts: 1,
    });
  });

  test("a task that is killed before it runs could have run before", () => {
    same(atOnce([{ op: "kill", who: 2 }], [], [write]));
  });

  test("a failure leaves tasks behind that could have run before", () => {
    same(
      atOnce(
        [{ op: "if", yes: { op: "fail" }, no: { op: "fail" } }],
        [{ op: "kill", who: 0 }],
        [read, write],
      ),
    );
  });
});

describe("with a bound on preemptions", () => {
  const deviations = ({ choices, sizes }: Ran): number =>
    choices.filter((choice, i) => choice > 0 && (sizes[i] as number) > 0).length;

  test("of 0, only first come, first served is left, with every fault", () => {
    expect(choicesOf(explore(chains([2, 2]), exhaustive({ preemptions: 0 })))).toEqual([[0, 0, 0]]);
    expect(choicesOf(explore(atOnce([coin], [coin]), exhaustive({ preemptions: 0 })))).toEqual([
      [0, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
      [0, 1, 1],
    ]);
  });

  test.prop([programs({ processes: true, draws: true, faults: true }), fc.nat(3)], runs(80))(
    "the schedules are those with no more deviations, each once, those with fewer first",
    (program, preemptions) => {
      const all = counted(program).filter((ran) => deviations(ran) <= preemptions);
      const runs = explore(program, exhaustive({ preemptions }));
      expect(choicesOf(runs).sort()).toEqual(choicesOf(all).sort());
      expect(runs.map(deviations)).toEqual(all.map(deviations).sort((a, b) => a - b));
    },
  );

  test("that no schedule reaches, the search ends all the same", () => {
    const preemptions = Number.MAX_SAFE_INTEGER;
    expect(explore(chains([2, 1]), exhaustive({ preemptions }))).toHaveLength(3);
  });

  test("random numbers keep their ordinary values", () => {
    const random: Op = { op: "draw", n: 256, label: "random" };
    expect(explore(atOnce([random]), exhaustive({ preemptions: 1 }))).toHaveLength(1);
  });

  test("the first failure is among the simplest", () => {
    // Actor 1 fails when it is overtaken twice; in the order of depth first, many other schedules come before.
    const late: Op[] = [{ op: "peek" }];
    const program: Program = { ...chains([1, 3, 3]), scripts: [[[]], [late], [[]]] };
    const failed = (ran: Ran): boolean => ran.events[1]?.actor === ran.events[2]?.actor;
    const found = (options: ExhaustiveOptions): Ran =>
      explore(program, exhaustive(options)).find(failed) as Ran;
    expect(deviations(found({ preemptions: 5 }))).toBe(1);
  });

  test("nothing is reduced, and no footprint asked for", () => {
    expect(exhaustive({ preemptions: 2, reduction: true }).observes).toBe(false);
    expect(explore(chains([1, 1, 1]), exhaustive({ preemptions: 9 }))).toHaveLength(6);
  });
});

describe("the same choices must have the same consequences", () => {
  const searches: readonly (readonly [string, ExhaustiveOptions])[] = [
    ["in full", WHOLE],
    ["with reduction", {}],
    ["with a bound", { preemptions: 3 }],
  ];
  const NOTHING = { reads: new Set<string>(), writes: new Set(["everything"]) };
  const task = (actor: number): PossibleStep => ({ kind: "run", actor, rank: undefined });

  /** Runs the first schedule as given, and then as many more as it takes to meet something else. */
  function diverge(
    options: ExhaustiveOptions,
    first: (chooser: Chooser) => void,
    then: (chooser: Chooser) => void,
  ): unknown {
    const strategy = exhaustive(options);
    try {
      for (let index = 0; index < 50; index++) {
        const chooser = strategy.begin(index, new Random(index), { longest: 0, actors: 0 });
        if (chooser === undefined) return undefined;
        (index === 0 || chooser.isAnew === true ? first : then)(chooser);
      }
    } catch (error) {
      return error;
    }
    return undefined;
  }

  const step = (chooser: Chooser, actors: readonly number[], kind: PossibleStep["kind"] = "run"): void => {
    const tasks = actors.map((actor): PossibleStep => ({ ...task(actor), kind }));
    const picked = tasks[chooser.pick(tasks)] as PossibleStep;
    chooser.ran?.(picked, NOTHING);
  };
  const usual = (chooser: Chooser): void => {
    step(chooser, [1, 2, 3]);
    chooser.draw(2, "coin");
    step(chooser, [4, 5]);
  };

  describe.each(searches)("%s", (name, options) => {
    test("they have: the search comes to its end", () => {
      expect(diverge(options, usual, usual)).toBeUndefined();
    });

    test("another number of tasks is found", () => {
      expect(diverge(options, usual, (chooser) => step(chooser, [1, 2, 3, 4]))).toMatchObject({ depth: 1 });
      const error = diverge(options, usual, (chooser) => step(chooser, [1, 2]));
      expect(error).toBeInstanceOf(ExplorationDivergedError);
      expect(error).toMatchObject({ code: "ERR_SIM_DIVERGED", depth: 1 });
      expect((error as ExplorationDivergedError).expected).toContain("a choice of 3 tasks");
      expect((error as ExplorationDivergedError).actual).toContain("a choice of 2 tasks");
      expect(String(error)).toContain("choice 1 was a choice of 3 tasks");
    });

    test("a draw in place of tasks is found, and tasks in place of a draw", () => {
      const swapped = (chooser: Chooser): void => {
        step(chooser, [1, 2, 3]);
        step(chooser, [4, 5]);
      };
      const error = diverge(options, usual, swapped);
      expect(error).toMatchObject({ depth: 2 });
      expect((error as ExplorationDivergedError).expected).toContain("a draw of 2");
      expect((error as ExplorationDivergedError).actual).toContain("a choice of 2 tasks");
      expect(diverge(options, swapped, usual)).toMatchObject({ depth: 2 });
    });

    test("another size of a draw is found", () => {
      const error = diverge(options, usual, (chooser) => {
        step(chooser, [1, 2, 3]);
        chooser.draw(3, "coin");
      });
      expect(error).toMatchObject({ depth: 2 });
      expect((error as ExplorationDivergedError).actual).toContain("a draw of 3");
    });

    test("a schedule that ends too early is found", () => {
      const error = diverge(options, usual, (chooser) => step(chooser, [1, 2, 3]));
      expect(error).toMatchObject({ depth: 2, actual: "the end of the schedule" });
    });

    test("code under test that catches the error does not hide it", () => {
      const error = diverge(options, usual, (chooser) => {
        try {
          step(chooser, [1, 2]);
        } catch {
          usual(chooser);
        }
      });
      expect(error).toMatchObject({ depth: 1 });
    });

    if (name !== "with a bound")
      test("other tasks of the same number, and another label, are found and named", () => {
        const tasks = diverge(options, usual, (chooser) => {
          step(chooser, [1, 2, 3]);
          chooser.draw(2, "coin");
          step(chooser, [4, 6]);
        });
        expect(tasks).toMatchObject({
          depth: 3,
          expected: "a choice of 2 tasks (run 4, run 5)",
          actual: "a choice of 2 tasks (run 4, run 6)",
        });
        const kinds = diverge(options, usual, (chooser) => step(chooser, [1, 2, 3], "resume"));
        expect(kinds).toMatchObject({ depth: 1 });
        const label = diverge(options, usual, (chooser) => {
          step(chooser, [1, 2, 3]);
          chooser.draw(2, "die");
        });
        expect(label).toMatchObject({ expected: "a draw of 2 (coin)", actual: "a draw of 2 (die)" });
      });
  });
});

describe("as a strategy", () => {
  test("it has a name, and asks for footprints only to reduce", () => {
    expect(exhaustive()).toMatchObject({ name: "exhaustive", observes: true });
    expect(exhaustive(WHOLE)).toMatchObject({ name: "exhaustive without reduction", observes: false });
    expect(exhaustive({ preemptions: 2 })).toMatchObject({ name: "exhaustive(2)", observes: false });
  });

  test.each([[{}], [WHOLE], [{ preemptions: 2 }]])(
    "%j: a finished search stays finished, and begins anew from 0",
    (options) => {
      const program = atOnce([write], [write], [coin]);
      const strategy = exhaustive(options);
      const first = choicesOf(explore(program, strategy));
      expect(strategy.begin(first.length + 1, new Random(1), { longest: 0, actors: 0 })).toBeUndefined();
      expect(choicesOf(explore(program, strategy))).toEqual(first);
    },
  );

  test("a schedule that is given up decides nothing more", () => {
    const strategy = exhaustive();
    const runs = explore(atOnce([write], [], [read], [write]), strategy);
    for (const ran of runs.filter(({ redundant }) => redundant))
      expect(runs.filter(({ choices }) => choices.join() === ran.choices.join())).toHaveLength(1);
    const redundant = run(atOnce([]), { pick: () => 0, draw: () => 0, redundant: true });
    expect(redundant.events).toEqual([]);
  });

  test.each([
    [{ preemptions: -1 }, "preemptions"],
    [{ preemptions: 1.5 }, "preemptions"],
    [{ reduction: "yes" as unknown as boolean }, "reduction"],
  ])("%j is refused", (options, path) => {
    expect(() => exhaustive(options)).toThrow(OptionError);
    expect(() => exhaustive(options)).toThrow(path);
  });
});
