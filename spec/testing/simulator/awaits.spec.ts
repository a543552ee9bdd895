// Where code under simulation is interrupted: at awaits of what the simulator settles, and nowhere else.

import { exhaustive, explore, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";

type Wait = (sim: Simulation) => unknown;

/** Logs a before the wait and b after it; another process logs x. All orders there are. */
async function orders(wait: Wait, where: "scenario" | "process"): Promise<string[]> {
  const seen = new Set<string>();
  const { complete } = await explore(
    async (sim) => {
      const system = sim.system();
      let order = "";
      const log = (what: string): void => {
        sim.touch("log");
        order += what;
      };
      const work = async (): Promise<void> => {
        log("a");
        await wait(sim);
        log("b");
      };
      const other = system.spawn<string>({ handle: (_ctx, message) => log(message) });
      system.send(other, "x");
      if (where === "scenario") await work();
      else system.send(system.spawn<string>({ handle: work }), "go");
      await sim.quiet();
      seen.add(order);
    },
    { strategy: exhaustive(), schedules: 10_000 },
  );
  expect(complete).toBe(true);
  return [...seen].sort();
}

describe("an await", () => {
  const steps: readonly [what: string, wait: Wait][] = [
    ["sim.sleep(0)", (sim) => sim.sleep(0)],
    ["a fake of sim.io", (sim) => sim.io("store", () => undefined)()],
    ["a fake that begins with sim.sleep(0)", (sim) => (async () => sim.sleep(0))()],
  ];

  test.each(steps)("of %s lets any other step come first, or not [T23]", async (_what, wait) => {
    // The scenario runs before any process, so the other process cannot come first.
    expect(await orders(wait, "scenario")).toEqual(["abx", "axb"]);
    expect(await orders(wait, "process")).toEqual(["abx", "axb", "xab"]);
  });

  const none: readonly [what: string, wait: Wait][] = [
    ["null", () => null],
    ["a settled promise", () => Promise.resolve()],
    ["a plain asynchronous fake", () => (async () => 1)()],
    [
      "many of them",
      async () => {
        for (let i = 0; i < 20; i++) await null;
      },
    ],
  ];

  test.each(none)("of %s goes on within the same step [T23]", async (_what, wait) => {
    expect(await orders(wait, "scenario")).toEqual(["abx"]);
    expect(await orders(wait, "process")).toEqual(["abx", "xab"]);
  });

  test("of sim.quiet goes on when no other step is possible [T23]", async () => {
    expect(await orders((sim) => sim.quiet(), "scenario")).toEqual(["axb"]);
  });
});

describe("sim.sleep(0)", () => {
  test("lets no time pass, however often it is called", async () => {
    await explore(
      async (sim) => {
        const system = sim.system();
        const heard: string[] = [];
        system.sendAfter(system.spawn<string>({ handle: (_ctx, what) => void heard.push(what) }), "late", 5);
        for (let i = 0; i < 100; i++) await sim.sleep(0);
        expect([sim.now, heard]).toEqual([0, []]);
      },
      { schedules: 50 },
    );
  });
});
