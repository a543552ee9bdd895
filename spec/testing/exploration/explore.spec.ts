import { OptionError, type Pid, type ReplyTo } from "signalbox";
import {
  EXPLORE_DEFAULTS,
  type ExploreOptions,
  explore,
  NeverReachedError,
  type Scenario,
  ScheduleFailedError,
  type Simulation,
  SimulationInvariantError,
  simulate,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { macrotask } from "../../support/host.js";
import { causeOf, errorOf, failureOf } from "../support/found.js";

/** Three processes send to a fourth; the order in which it hears of them is up to the schedule. */
async function threeSenders(sim: Simulation): Promise<string> {
  const system = sim.system({ name: "post" });
  let heard = "";
  const office = system.spawn<string>(
    {
      handle: (_ctx, letter) => {
        heard += letter;
      },
    },
    { label: "office" },
  );
  for (const letter of ["a", "b", "c"]) system.spawn((ctx) => ctx.send(office, letter), { label: letter });
  await sim.quiet();
  return heard;
}

/**
 * Two clerks sell from the same shelf: each asks how much is left, and then says how much is left after it. Bob looks
 * once before, so that ordinarily he comes too late to get into Ann's way.
 */
async function lostUpdate(sim: Simulation): Promise<void> {
  type Shelf = { readonly left: ReplyTo<number> } | { readonly nowLeft: number };
  const system = sim.system({ name: "shop" });
  let left = 10;
  const shelf = system.spawn<Shelf>(
    {
      handle: (ctx, message) => {
        if ("left" in message) ctx.reply(message.left, left);
        else left = message.nowLeft;
      },
    },
    { label: "shelf" },
  );
  const sell = (label: string, looks: number): void => {
    system.spawn(
      async (ctx) => {
        let seen = 0;
        for (let i = 0; i < looks; i++)
          seen = await ctx.call(shelf, (reply: ReplyTo<number>) => ({ left: reply }));
        ctx.send(shelf, { nowLeft: seen - 1 });
      },
      { label },
    );
  };
  sell("ann", 1);
  sell("bob", 2);
  sim.finally("both sales count", () => left === 8);
  await sim.quiet();
}

/** Runs a scenario, and notes what it gave in each schedule. */
function noting<T>(scenario: (sim: Simulation) => Promise<T>): {
  readonly seen: T[];
  readonly scenario: Scenario;
} {
  const seen: T[] = [];
  return { seen, scenario: async (sim) => seen.push(await scenario(sim)) };
}

describe("schedules", () => {
  test("the first schedule is the ordinary one: first come, first served", async () => {
    const { seen, scenario } = noting(threeSenders);
    await explore(scenario, { schedules: 1, recheck: 0 });
    expect(seen).toEqual(["abc"]);
  });

  test("the others go other ways, and after enough of them every order was there", async () => {
    const { seen, scenario } = noting(threeSenders);
    await explore(scenario, { schedules: 200 });
    expect([...new Set(seen)].sort()).toEqual(["abc", "acb", "bac", "bca", "cab", "cba"]);
  });

  test("the same seed explores the same schedules, another seed others [T1]", async () => {
    const ofSeed = async (seed: number): Promise<string> => {
      const { seen, scenario } = noting(threeSenders);
      await explore(scenario, { schedules: 50, seed, recheck: 0 });
      return seen.join(" ");
    };
    expect(await ofSeed(7)).toBe(await ofSeed(7));
    expect(await ofSeed(7)).not.toBe(await ofSeed(8));
  });

  test("a scenario runs once for each schedule, and again for those that are rechecked", async () => {
    let runs = 0;
    const result = await explore(() => runs++, { schedules: 20, recheck: 5 });
    expect(result.schedules).toBe(20);
    expect(runs).toBe(24);
  });

  test("by default it runs a thousand", async () => {
    expect((await explore(() => undefined)).schedules).toBe(EXPLORE_DEFAULTS.schedules);
    expect(EXPLORE_DEFAULTS.schedules).toBe(1_000);
  });

  test("a strategy that enumerates ends the exploration when it has been everywhere", async () => {
    const { seen, scenario } = noting(threeSenders);
    const result = await explore(scenario, {
      strategy: exhaustive({ reduction: false }),
      schedules: 10_000,
      recheck: 0,
    });
    expect(result.complete).toBe(true);
    expect(result.schedules).toBe(seen.length);
    expect(new Set(seen).size).toBe(6);
  });

  test("one that does not never ends by itself", async () => {
    const result = await explore(threeSenders, { strategy: randomWalk(), schedules: 100 });
    expect(result).toMatchObject({ strategy: "random walk", complete: false, schedules: 100 });
  });
});

describe("the result of an exploration", () => {
  test("how many schedules differed, and how many states they ended in", async () => {
    const result = await explore(
      async (sim) => {
        const heard = await threeSenders(sim);
        sim.state(() => heard.length);
      },
      { schedules: 300 },
    );
    expect(result.distinctSchedules).toBeGreaterThan(6);
    expect(result.distinctStates).toBe(1);
    expect(result.steps).toBeGreaterThan(300 * 7);
  });

  test("`sim.state` adds to the state", async () => {
    const result = await explore(
      async (sim) => {
        const heard = await threeSenders(sim);
        sim.state(() => heard);
      },
      { schedules: 300 },
    );
    expect(result.distinctStates).toBe(6);
  });

  test("how many schedules were cut off at `maxSteps`", async () => {
    const forEver: Scenario = async (sim) => {
      const system = sim.system();
      const self: Pid<string> = system.spawn<string>({ handle: (ctx) => ctx.send(self, "again") });
      system.send(self, "go");
      await sim.quiet();
    };
    const result = await explore(forEver, { schedules: 5, maxSteps: 50, endless: "pass" });
    expect(result).toMatchObject({ bounded: 5, steps: 250 });
    expect((await explore(threeSenders, { schedules: 5 })).bounded).toBe(0);
  });

  test("how much virtual time went by", async () => {
    const result = await explore((sim) => sim.sleep(1_000), { schedules: 3 });
    expect(result.virtualMs).toBe(3_000);
  });

  test("in how many schedules each interesting state was there", async () => {
    const result = await explore(
      (sim) => {
        sim.sometimes("always");
        sim.sometimes("one side", sim.choose(2) === 1);
      },
      { schedules: 100 },
    );
    expect(result.reached.get("always")).toBe(100);
    expect(result.reached.get("one side")).toBeGreaterThan(10);
    expect(result.reached.get("one side")).toBeLessThan(90);
  });

  test("an interesting state that no schedule came to is an error", async () => {
    const error = await errorOf(explore((sim) => sim.sometimes("pigs fly", false), { schedules: 7 }));
    expect(error).toBeInstanceOf(NeverReachedError);
    expect((error as Error).message).toContain("none of 7 schedules reached: pigs fly");
  });

  test("also one that no schedule so much as mentioned, when it was named in the options", async () => {
    const error = await errorOf(explore(() => undefined, { schedules: 2, sometimes: ["pigs fly"] }));
    expect(error).toBeInstanceOf(NeverReachedError);
  });
});

describe("a failing schedule", () => {
  test("is reported with the simplest schedule found that fails in the same way, step by step", async () => {
    const error = await failureOf(lostUpdate, { schedules: 500 });
    expect(error.cause).toBeInstanceOf(SimulationInvariantError);
    expect(error.cause).toMatchObject({ invariant: "both sales count" });
    expect(error.message).toContain(
      'SimulationInvariantError: the invariant "both sales count" does not hold',
    );
    expect(error.message).toContain("shop/shelf");
    expect(error.message).toContain(`replay: "${error.token}"`);
    expect(error.trace.steps).toHaveLength(error.trace.steps.at(-1)?.number ?? 0);
    expect(error.toMermaid()).toContain("sequenceDiagram");
  });

  test("says how it was found", async () => {
    const error = await failureOf(lostUpdate, { schedules: 500, seed: 3, strategy: randomWalk() });
    expect(error.found).toMatchObject({ seed: 3, strategy: "random walk" });
    expect(error.found.schedule).toBeGreaterThan(1);
    expect(error.found.steps).toBeGreaterThanOrEqual(error.trace.steps.length);
    expect(error.message).toContain(`schedule ${error.found.schedule} by random walk, seed 3`);
  });

  test("has no deviation from the ordinary order that it could do without [T6]", async () => {
    const { choices } = await failureOf(lostUpdate, { schedules: 500 });
    const deviations = choices.flatMap((choice, index) => (choice > 0 ? [index] : []));
    expect(deviations.length).toBeLessThanOrEqual(2);
    for (const place of deviations)
      await simulate(lostUpdate, { choices: choices.map((choice, index) => (index === place ? 0 : choice)) });
  });

  test("is reported as it was found with `shrink: 0`", async () => {
    const error = await failureOf(lostUpdate, { schedules: 500, shrink: 0 });
    expect(error.found.tried).toBe(0);
    expect(error.found.steps).toBe(error.trace.steps.length);
  });

  test("ends the exploration: no other schedule runs after it", async () => {
    let runs = 0;
    const error = await failureOf(
      (sim) => {
        runs++;
        if (sim.choose(2) === 1) throw new Error("bad luck");
      },
      { schedules: 1_000, shrink: 0 },
    );
    // Once more to see that it comes to the same, once more for the report; the first was rechecked.
    expect(runs).toBe(error.found.schedule + 3);
  });
});

describe("a scenario", () => {
  test("may be a plain function", async () => {
    expect((await explore(() => undefined, { schedules: 1 })).schedules).toBe(1);
  });

  test("fails when it throws", async () => {
    const mistake = new Error("a mistake");
    expect(
      await causeOf(() => {
        throw mistake;
      }),
    ).toBe(mistake);
  });

  test("fails when it rejects, also with a value that is no error", async () => {
    expect(await causeOf(() => Promise.reject("a text"))).toBe("a text");
    expect(await causeOf(() => Promise.reject(undefined))).toBe(undefined);
  });

  test("fails when one of its promises rejects unhandled", async () => {
    const forgotten = new Error("nobody looks");
    expect(
      await causeOf(async (sim) => {
        void Promise.reject(forgotten);
        await sim.quiet();
      }),
    ).toBe(forgotten);
  });

  test("does not fail when a process crashes, since supervisors handle crashes", async () => {
    await explore(
      async (sim) => {
        const system = sim.system();
        const clerk = system.spawn(() => {
          throw new Error("ill");
        });
        expect(await system.exited(clerk)).toMatchObject({ type: "crash" });
      },
      { schedules: 20 },
    );
  });

  test("can be run once, in the ordinary way or in that of a list of choices", async () => {
    const { seen, scenario } = noting(threeSenders);
    expect(await simulate(scenario)).toMatchObject({ schedules: 1, complete: false });
    await simulate(scenario, { choices: [1, 1, 1, 1] });
    expect(seen[0]).toBe("abc");
    expect(seen[1]).not.toBe("abc");
  });
});

describe("explorations take turns", () => {
  test("two that are started at once run one after the other", async () => {
    const order: string[] = [];
    const named = (name: string): Scenario => {
      return async (sim) => {
        order.push(name);
        await threeSenders(sim);
      };
    };
    await Promise.all([explore(named("a"), { schedules: 20 }), explore(named("b"), { schedules: 20 })]);
    expect(order.join("")).toMatch(/^a+b+$/);
  });

  test("also one that is started when another is in the middle of a schedule", async () => {
    let begun = false;
    const first = explore(
      async (sim) => {
        begun = true;
        await threeSenders(sim);
      },
      { schedules: 50 },
    );
    while (!begun) await macrotask();
    const second = explore(threeSenders, { schedules: 5 });
    const ends = await Promise.allSettled([first, second]);
    expect(ends.map((end) => end.status)).toEqual(["fulfilled", "fulfilled"]);
  });

  test("the next one runs after one that failed", async () => {
    const failing = errorOf(explore(() => Promise.reject(new Error("no"))));
    const next = explore(threeSenders, { schedules: 2 });
    expect(await failing).toBeInstanceOf(ScheduleFailedError);
    expect((await next).schedules).toBe(2);
  });

  test("within a scenario there is no other exploration", async () => {
    const cause = await causeOf(() => explore(() => undefined));
    expect(cause).toBeInstanceOf(OptionError);
    expect((cause as Error).message).toContain("they do not nest");
  });

  test("nor within a process", async () => {
    const cause = await causeOf(async (sim) => {
      const system = sim.system();
      const clerk = system.spawn(async () => {
        await simulate(() => undefined);
      });
      const reason = await system.exited(clerk);
      if (reason.type === "crash") throw reason.error;
    });
    expect(cause).toBeInstanceOf(OptionError);
  });
});

describe("an AbortSignal", () => {
  test("ends an exploration between two schedules, with its reason", async () => {
    const abort = new AbortController();
    let runs = 0;
    const reason = new Error("enough");
    const run = explore(
      () => {
        if (++runs === 3) abort.abort(reason);
      },
      { signal: abort.signal, recheck: 0 },
    );
    expect(await errorOf(run)).toBe(reason);
    expect(runs).toBe(3);
  });
});

describe("options are checked before anything runs", () => {
  const wrong: readonly [path: string, options: object][] = [
    ["schedules", { schedules: 0 }],
    ["schedules", { schedules: 1.5 }],
    ["seed", { seed: -1 }],
    ["maxSteps", { maxSteps: 0 }],
    ["recheck", { recheck: -1 }],
    ["shrink", { shrink: -1 }],
    ["patienceMs", { patienceMs: 0 }],
    ["name", { name: "" }],
    ["sometimes", { sometimes: [3] }],
    ["sometimes", { sometimes: "a label" }],
    ["strategy", { strategy: {} }],
    ["strategy", { strategy: "random" }],
    ["allow", { allow: "" }],
    ["allow[1]", { allow: ["a", 5] }],
    ["freeze", { freeze: "yes" }],
    ["checks", { checks: true }],
    ["checks.orphan", { checks: { orphan: false } }],
    ["faults.crashes", { faults: { crashes: {} } }],
    ["faults", { faults: 5 }],
    ["faults.crash[0].of", { faults: { crash: {} } }],
    ["faults.crash[1].of", { faults: { crash: [{ of: "a" }, { of: "" }] } }],
    ["faults.crash[0].atMost", { faults: { crash: { of: "a", atMost: 0 } } }],
    ["faults.crash[0].atmost", { faults: { crash: { of: "a", atmost: 2 } } }],
    ["faults.start.of", { faults: { start: { atMost: 1 } } }],
    ["faults.pause.forMs", { faults: { pause: { of: "a", forMs: [] } } }],
    ["faults.pause.forMs", { faults: { pause: { of: "a", forMs: 5 } } }],
    ["faults.pause.forMs[1]", { faults: { pause: { of: "a", forMs: [5, -1] } } }],
    ["faults.delay.of", { faults: { delay: {} } }],
    ["faults.delay.atMost", { faults: { delay: { of: "a", atMost: 0.5 } } }],
    ["faults.rush.atMost", { faults: { rush: { atMost: -1 } } }],
    ["faults.rush", { faults: { rush: true } }],
    ["budgetMs", { budgetMs: -1 }],
    ["plateau", { plateau: 0 }],
    ["maxStep", { maxStep: 5 }],
    ["choices", { choices: [1] }],
    ["options", [1]],
  ];

  test.each(wrong)("%s in %j", async (path, options) => {
    let runs = 0;
    const error = await errorOf(explore(() => runs++, options as ExploreOptions));
    expect(error).toBeInstanceOf(OptionError);
    expect((error as OptionError).path).toBe(path);
    expect(runs).toBe(0);
  });

  test("an unknown option is refused, with the name that was meant", async () => {
    const misspelled: readonly [given: object, meant: string][] = [
      [{ maxStep: 5 }, "did you mean maxSteps?"],
      [{ Schedules: 5 }, "did you mean schedules?"],
      [{ timeout: 5 }, "there is only faults, maxSteps"],
    ];
    for (const [options, meant] of misspelled) {
      const error = await errorOf(explore(() => undefined, options));
      expect(error).toMatchObject({ code: "ERR_OPTION", message: expect.stringContaining(meant) });
    }
    const single = await errorOf(simulate(() => undefined, { seed: 5 } as object));
    expect(single).toMatchObject({ code: "ERR_OPTION", path: "seed" });
  });

  test("a scenario is a function", async () => {
    const error = await errorOf(explore({} as never));
    expect(error).toMatchObject({ code: "ERR_OPTION", path: "scenario" });
  });
});
