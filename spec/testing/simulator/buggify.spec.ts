// Points of `ctx.buggify`: code under simulation does something unlikely there, and code in production never does.

import { System } from "signalbox";
import { exhaustive, explore, type Simulation, simulate, testClock } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf, errorOf, failureOf } from "../support/found.js";

/** A process that passes a point so many times; returns how often the point fired. */
const passing = (label: string, times: number, probability?: number) => async (sim: Simulation) => {
  let fired = 0;
  sim.system({ name: "shop" }).spawn(
    (ctx) => {
      for (let i = 0; i < times; i++) if (ctx.buggify(label, probability)) fired++;
    },
    { label: "clerk" },
  );
  await sim.quiet();
  return fired;
};

/** How often the point fired in each schedule. */
async function counts(scenario: (sim: Simulation) => Promise<number>, schedules: number): Promise<number[]> {
  const all: number[] = [];
  await explore(async (sim) => void all.push(await scenario(sim)), { schedules, recheck: 0 });
  return all;
}

describe("a point of ctx.buggify", () => {
  test("never fires in production, nor under a test clock [T22]", async () => {
    const clock = testClock();
    for (const system of [new System({ report: false }), new System({ environment: clock.environment })]) {
      let fired = 0;
      const pid = system.spawn((ctx) => {
        for (let i = 0; i < 100; i++) if (ctx.buggify("x")) fired++;
      });
      while (system.isAlive(pid)) await system.idle();
      expect(fired).toBe(0);
      await system.stop();
    }
  });

  test("never fires in the ordinary schedule, nor while the simulation is calm [T22]", async () => {
    await simulate(async (sim) => expect(await passing("x", 100)(sim)).toBe(0));
    const calm = await counts((sim) => {
      sim.calm();
      return passing("x", 100)(sim);
    }, 100);
    expect(Math.max(...calm)).toBe(0);
  });

  test("is enabled in one of four schedules, and then fires one time in four [T22]", async () => {
    const all = await counts(passing("x", 100), 2_000);
    const on = all.filter((n) => n > 0);
    expect(on.length / all.length).toBeGreaterThan(0.2);
    expect(on.length / all.length).toBeLessThan(0.3);
    const mean = on.reduce((sum, n) => sum + n, 0) / on.length;
    expect(mean).toBeGreaterThan(22);
    expect(mean).toBeLessThan(28);
  });

  test("fires as often as it is told to", async () => {
    const all = await counts(passing("x", 100, 1), 200);
    expect(new Set(all)).toEqual(new Set([0, 100]));
  });

  test("is enabled or not on its own: points do not go together", async () => {
    const seen = new Set<string>();
    await explore(
      async (sim) => {
        const both = [await passing("x", 20)(sim), await passing("y", 20)(sim)];
        seen.add(both.map((n) => n > 0).join(" "));
      },
      { schedules: 300 },
    );
    expect([...seen].sort()).toEqual(["false false", "false true", "true false", "true true"]);
  });

  test("is counted, also if it has never fired", async () => {
    const { buggified } = await explore(
      async (sim) => {
        await passing("x", 1, 1)(sim);
        sim.calm();
        await passing("y", 1, 1)(sim);
      },
      { schedules: 200, recheck: 0 },
    );
    expect([...buggified.keys()]).toEqual(["x", "y"]);
    expect(buggified.get("x")).toBeGreaterThan(0);
    expect(buggified.get("y")).toBe(0);
  });

  test("is explored both ways by an exhaustive search", async () => {
    const seen = new Set<number>();
    const { complete, schedules, redundant } = await explore(
      async (sim) => void seen.add(await passing("x", 3)(sim)),
      { strategy: exhaustive() },
    );
    expect([complete, schedules - redundant, [...seen].sort()]).toEqual([true, 8, [0, 1, 2, 3]]);
  });

  test("stands in the report, shrinks to the firings that matter, and replays", async () => {
    const scenario = async (sim: Simulation): Promise<void> => {
      if ((await passing("x", 5)(sim)) >= 2) throw new Error("found");
    };
    const failed = await failureOf(scenario);
    expect(failed.message.match(/· buggify: x/g)?.length).toBe(2);
    expect(((await errorOf(explore(scenario, { replay: failed.token }))) as Error).message).toContain(
      "found",
    );
  });

  test.each<[path: string, label: string, probability: unknown]>([
    ["label", "", 0.5],
    ["probability", "x", 0],
    ["probability", "x", 2],
    ["probability", "x", "often"],
  ])("with a wrong %s is refused", async (path, label, probability) => {
    const scenario = async (sim: Simulation): Promise<void> => {
      let error: unknown;
      sim.system().spawn((ctx) => {
        try {
          ctx.buggify(label, probability as number);
        } catch (thrown) {
          error = thrown;
        }
      });
      await sim.quiet();
      throw error;
    };
    expect(await causeOf(scenario)).toMatchObject({ code: "ERR_OPTION", path });
  });
});
