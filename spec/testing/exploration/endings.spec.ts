// When an exploration ends, and what it says about what was new.

import { explore, type Scenario } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { portfolio } from "../../../lib/testing/strategies/portfolio.js";
import { pos } from "../../../lib/testing/strategies/pos.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";

/** Processes that send letters to an office, which sends none. */
function letters(senders: number): Scenario {
  return async (sim) => {
    const system = sim.system({ name: "post" });
    const office = system.spawn<string>({ handle: () => undefined }, { label: "office" });
    for (let i = 0; i < senders; i++) system.spawn((ctx) => ctx.send(office, "a letter"), { label: `s${i}` });
    await sim.quiet();
  };
}

describe("an exploration ends", () => {
  test("when its schedules or its time are over, when it is complete, or on a plateau, and says why [T16]", async () => {
    const ended = async (options: object): Promise<unknown> => {
      const { ended, complete } = await explore(letters(2), options);
      return [ended, complete];
    };
    expect(await ended({ schedules: 5 })).toEqual(["schedules", false]);
    expect(await ended({ budgetMs: 0 })).toEqual(["time", false]);
    expect(await ended({ plateau: 50, schedules: 100_000 })).toEqual(["plateau", false]);
    expect(await ended({ strategy: exhaustive(), recheck: 0 })).toEqual(["complete", true]);
  });

  test("at its time within a schedule that does not end, whatever the limit of steps [T16]", async () => {
    const spinning: Scenario = async (sim) => {
      for (let index = sim.choose(2) * 1_000_000_000; index >= 0; index--) await sim.sleep(0);
    };
    const { ended, schedules } = await explore(spinning, {
      budgetMs: 100,
      maxSteps: 2_000_000_000,
      strategy: exhaustive({ reduction: false }),
    });
    expect([ended, schedules]).toEqual(["time", 1]);
  });

  test("with what it has explored, when its time is over", async () => {
    const { schedules, steps } = await explore(letters(2), { budgetMs: 0, schedules: 100_000 });
    expect(schedules).toBeGreaterThanOrEqual(1);
    expect(schedules).toBeLessThan(100_000);
    expect(steps).toBeGreaterThan(0);
  });

  test("after as many schedules without anything new as `plateau` says", async () => {
    const { schedules, lastNew } = await explore(letters(2), { plateau: 40, schedules: 100_000 });
    expect(schedules).toBe(lastNew + 40);
  });

  test("by default after a thousand schedules, and with a budget in time after any number", async () => {
    expect((await explore(() => undefined, { budgetMs: 1e9 / 3, plateau: 2_000 })).schedules).toBe(2_001);
  });

  test("a label that is reached late is new, although no state is", async () => {
    let run = 0;
    const scenario: Scenario = (sim) => sim.sometimes("the thirtieth", ++run === 30);
    expect(await explore(scenario, { schedules: 100, recheck: 0 })).toMatchObject({ lastNew: 30 });
  });
});

describe("states on the way", () => {
  test("are the same for schedules that differ only in the order of independent steps", async () => {
    const apart: Scenario = async (sim) => {
      const system = sim.system({ name: "apart" });
      system.spawn(() => undefined, { label: "a" });
      system.spawn(() => undefined, { label: "b" });
      await sim.quiet();
    };
    // Neither has run, one has, the other has, both have; then the scenario goes on.
    const { visitedStates, distinctSchedules } = await explore(apart, { schedules: 50 });
    expect(distinctSchedules).toBe(2);
    expect(visitedStates).toBe(5);
  });

  test("differ by the order in which messages arrive", async () => {
    const ends = new Set<number>();
    for (const senders of [1, 2, 3])
      ends.add((await explore(letters(senders), { schedules: 500 })).visitedStates);
    const [one, two, three] = [...ends] as [number, number, number];
    expect(one).toBeLessThan(two);
    expect(two).toBeLessThan(three);
  });

  test("include decisions of the scenario", async () => {
    const choosing: Scenario = (sim) => void sim.choose(4);
    expect((await explore(choosing, { schedules: 100 })).visitedStates).toBe(4);
  });

  test("are the same on every exploration of a seed", async () => {
    const one = await explore(letters(4), { schedules: 200, seed: 3 });
    expect(await explore(letters(4), { schedules: 200, seed: 3 })).toEqual(one);
  });
});

describe("what each strategy has shown", () => {
  test("is counted by its name", async () => {
    const { yields, schedules, visitedStates, distinctStates } = await explore(letters(3), {
      schedules: 21,
      strategy: portfolio([randomWalk(), pos()]),
    });
    expect(schedules).toBe(21);
    expect([...yields.keys()][0]).toBe("the ordinary schedule");
    const names = [...yields.keys()];
    expect(names.slice(1).sort()).toEqual(["POS", "random walk"]);
    expect([...yields.values()].map((one) => one.schedules)).toEqual([1, 10, 10]);
    const states = [...yields.values()].reduce((sum, { newStates }) => sum + newStates, 0);
    expect(states).toBe(visitedStates + distinctStates);
  });
});
