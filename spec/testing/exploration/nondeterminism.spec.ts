// The same choices must lead to the same run. Where they do not, something is not under the simulator's control.

import type { Context, Pid } from "signalbox";
import { explore, NondeterminismError, type Scenario, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { errorOf } from "../support/found.js";

/** Sends as many messages as it is told. */
async function busy(sim: Simulation, messages: (ctx: Context<string>) => number): Promise<number> {
  const system = sim.system({ name: "shop" });
  let heard = 0;
  const clerk = system.spawn<string>({ handle: () => void heard++ }, { label: "clerk" });
  system.spawn(
    (ctx) => {
      for (let i = messages(ctx as Context<string>); i > 0; i--) ctx.send(clerk, "work");
    },
    { label: "boss" },
  );
  await sim.quiet();
  return heard;
}

describe("nondeterminism", () => {
  test("by Math.random is found, and the step named [T9]", async () => {
    const error = await errorOf(explore((sim) => busy(sim, () => Math.floor(Math.random() * 1_000))));
    expect(error).toBeInstanceOf(NondeterminismError);
    expect((error as NondeterminismError).step).toBe(2);
    expect((error as Error).message).toMatch(
      /from step 2 on: first "shop\/boss: starts", then "shop\/boss: starts"/,
    );
    expect((error as Error).message).toContain("use ctx.random");
  });

  test("by the random numbers of the Environment there is none", async () => {
    const heard = new Set<number>();
    await explore(async (sim) => heard.add(await busy(sim, (ctx) => Math.floor(ctx.random() * 10))), {
      schedules: 200,
      recheck: 1,
    });
    expect(heard.size).toBeGreaterThan(5);
  });

  test("by state that is shared between schedules is found", async () => {
    let runs = 0;
    const error = await errorOf(explore((sim) => busy(sim, () => ++runs)));
    expect(error).toBeInstanceOf(NondeterminismError);
    expect((error as NondeterminismError).step).toBe(2);
  });

  test("of an order alone is found, though all comes to the same in the end", async () => {
    const scenario: Scenario = async (sim) => {
      const system = sim.system({ name: "shop" });
      const [a, b] = ["a", "b"].map((label) => system.spawn<string>({ handle: () => undefined }, { label }));
      system.spawn((ctx) => {
        for (const pid of Math.random() < 0.5 ? [a, b] : [b, a]) ctx.send(pid as Pid<string>, "hello");
      });
      await sim.quiet();
    };
    const error = await errorOf(explore(scenario, { schedules: 50, recheck: 1 }));
    expect(error).toBeInstanceOf(NondeterminismError);
  });

  test("by real time is found", async () => {
    const error = await errorOf(
      explore((sim) => busy(sim, () => Math.floor(performance.now() * 1_000) % 997), {
        schedules: 100,
        recheck: 1,
      }),
    );
    expect(error).toBeInstanceOf(NondeterminismError);
  });

  test("that shows only in the state at the end is found where the scenario counts it as state", async () => {
    const scenario: Scenario = async (sim) => {
      const secret = Math.random();
      sim.state(() => secret);
      await busy(sim, () => 1);
    };
    expect(await errorOf(explore(scenario))).toBeInstanceOf(NondeterminismError);
  });

  test("is found when a failure does not come again", async () => {
    let runs = 0;
    const once: Scenario = async (sim) => {
      await busy(sim, () => 1);
      if (++runs === 5) throw new Error("only once");
    };
    const error = await errorOf(explore(once, { recheck: 0 }));
    expect(error).toBeInstanceOf(NondeterminismError);
    expect((error as Error).cause).toMatchObject({ message: "only once" });
  });

  test("of the first schedule from the others is found: state created at the first use", async () => {
    let warm = false;
    const caching: Scenario = async (sim) => {
      await busy(sim, () => (warm ? 1 : 2));
      warm = true;
    };
    const error = await errorOf(explore(caching, { schedules: 10 }));
    expect(error).toBeInstanceOf(NondeterminismError);
    // Run again it does as it did the second time: the first time cannot be told any more.
    expect((error as NondeterminismError).step).toBe(2);
  });

  test("is looked for in one of a hundred schedules, or as often as is asked", async () => {
    const runs = async (recheck: number): Promise<number> => {
      let count = 0;
      await explore(() => count++, { schedules: 200, recheck });
      return count;
    };
    expect(await runs(100)).toBe(202);
    expect(await runs(1)).toBe(400);
    expect(await runs(0)).toBe(200);
  });

  test("is not detected with `recheck: 0`", async () => {
    await explore((sim) => busy(sim, () => Math.floor(Math.random() * 10)), { schedules: 100, recheck: 0 });
  });

  test("does not include the order of steps", async () => {
    await explore((sim) => busy(sim, () => 5), {
      schedules: 300,
      recheck: 1,
      faults: { rush: {}, crash: { of: "**" } },
    });
  });
});
