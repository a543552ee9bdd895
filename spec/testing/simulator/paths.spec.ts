// What a process is called: its place in the tree, the same in every schedule that begins alike.

import { type Context, defineServer, type System, supervisor } from "signalbox";
import { explore, type Simulation, simulate } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { sleep } from "../../support/puppet.js";

const Worker = defineServer({ init: () => ({}), label: "worker" });

/** Paths of the processes alive. */
function paths(sim: Simulation, ...systems: System[]): string[] {
  return systems.flatMap((system) => system.processes().map((pid) => sim.path(pid)));
}

/** What the ordinary schedule of a scenario gives. */
async function once<T>(scenario: (sim: Simulation) => Promise<T>): Promise<T> {
  let result!: T;
  await simulate(async (sim) => {
    result = await scenario(sim);
  });
  return result;
}

describe("a path", () => {
  test("begins with the system, and then has the label of each process from the top down", async () => {
    const found = await once(async (sim) => {
      const system = sim.system({ name: "shop" });
      system.spawn(
        (ctx) => {
          ctx.spawn((inner) => sleep(inner), { label: "inner" });
          return sleep(ctx);
        },
        { label: "outer" },
      );
      await sim.quiet();
      return paths(sim, system);
    });
    expect(found).toEqual(["shop/outer", "shop/outer/inner"]);
  });

  test("has the name of a process without a label, and `process` for one that has neither", async () => {
    const found = await once(async (sim) => {
      const system = sim.system({ name: "shop" });
      system.spawn(sleep, { name: "till" });
      system.spawn(sleep, { name: "till2", label: "labelled" });
      system.spawn(sleep);
      await sim.quiet();
      return paths(sim, system);
    });
    expect(found).toEqual(["shop/till", "shop/labelled", "shop/process"]);
  });

  test("has the id of a supervisor's child", async () => {
    const found = await once(async (sim) => {
      const system = sim.system({ name: "shop" });
      const Floor = supervisor({
        children: ["a", "b"].map((id) => ({ id, start: Worker })),
      });
      await system.start(supervisor({ children: [{ id: "floor", start: Floor }] }));
      return paths(sim, system);
    });
    expect(found).toEqual([
      "shop/supervisor",
      "shop/supervisor/floor",
      "shop/supervisor/floor/a",
      "shop/supervisor/floor/b",
    ]);
  });

  test("of a later one with the same name under the same parent has a number: a restarted child is the second", async () => {
    const found = await once(async (sim) => {
      const system = sim.system({ name: "shop" });
      await system.start(
        supervisor({ intensity: 9, children: [{ id: "worker", name: "w", start: Worker }] }),
      );
      const seen: string[] = [];
      for (let i = 0; i < 3; i++) {
        const worker = system.whereis("w");
        if (worker === undefined) throw new Error("no worker");
        seen.push(sim.path(worker));
        sim.crash(worker);
        await sim.quiet();
      }
      return seen;
    });
    expect(found).toEqual(["shop/supervisor/worker", "shop/supervisor/worker#2", "shop/supervisor/worker#3"]);
  });

  test("is counted under each parent by itself", async () => {
    const found = await once(async (sim) => {
      const system = sim.system({ name: "shop" });
      for (const label of ["a", "b"])
        system.spawn(
          (ctx) => {
            for (let i = 0; i < 2; i++) ctx.spawn(sleep, { label: "child" });
            return sleep(ctx);
          },
          { label },
        );
      await sim.quiet();
      return paths(sim, system).sort();
    });
    expect(found).toEqual([
      "shop/a",
      "shop/a/child",
      "shop/a/child#2",
      "shop/b",
      "shop/b/child",
      "shop/b/child#2",
    ]);
  });

  test("stays the same when the process has ended, and when its parent has", async () => {
    const found = await once(async (sim) => {
      const system = sim.system({ name: "shop" });
      const seen: string[] = [];
      const parent = system.spawn(
        (ctx: Context) => {
          ctx.spawn((child) => sleep(child), { name: "child" });
        },
        { name: "parent" },
      );
      await sim.quiet();
      const child = system.whereis("child");
      if (child === undefined) throw new Error("no child");
      seen.push(sim.path(parent), sim.path(child));
      sim.crash(child, "kill");
      seen.push(sim.path(child));
      // The name is free: another may take it, and is another.
      const heir = system.spawn(sleep, { name: "child" });
      await sim.quiet();
      return [...seen, sim.path(heir)];
    });
    expect(found).toEqual(["shop/parent", "shop/parent/child", "shop/parent/child", "shop/child"]);
  });

  test("differs between systems of the same name, also when one has stopped before the other began", async () => {
    const found = await once(async (sim) => {
      const seen: string[] = [];
      const [first, second] = [sim.system({ name: "shop" }), sim.system({ name: "shop" })];
      for (const system of [first, second]) seen.push(sim.path(system.spawn(sleep, { label: "clerk" })));
      await first.stop();
      await second.stop();
      const third = sim.system({ name: "shop" });
      seen.push(sim.path(third.spawn(sleep, { label: "clerk" })));
      return seen;
    });
    expect(found).toEqual(["shop/clerk", "shop#2/clerk", "shop#3/clerk"]);
  });

  test("belongs to one process alone in a schedule", async () => {
    await explore(
      async (sim) => {
        sim.calm();
        const system = sim.system({ name: "shop" });
        const seen = new Map<string, unknown>();
        system.events.on("spawn", ({ pid }) => {
          const path = sim.path(pid);
          if (seen.has(path)) throw new Error(`two processes are called ${path}`);
          seen.set(path, pid);
        });
        await system.start(
          supervisor({
            intensity: 99,
            strategy: "one_for_all",
            children: ["a", "b"].map((id) => ({ id, start: Worker })),
          }),
        );
        sim.storm();
        for (let i = 0; i < 4; i++) await sim.sleep(1);
        sim.sometimes(
          "a third generation",
          [...seen.keys()].some((path) => path.endsWith("#3")),
        );
      },
      { schedules: 200, faults: { crash: { of: ["**/a*", "**/b*"], atMost: 3 } } },
    );
  });

  test("is the same in every order of steps, as long as each parent does the same", async () => {
    const found = new Set<string>();
    await explore(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        for (const label of ["a", "b"])
          system.spawn(
            (ctx) => {
              ctx.spawn(sleep, { label: "child" });
              return sleep(ctx);
            },
            { label },
          );
        await sim.quiet();
        found.add(paths(sim, system).sort().join());
      },
      { schedules: 1_000, strategy: exhaustive({ reduction: false }), recheck: 0 },
    );
    expect([...found]).toEqual(["shop/a,shop/a/child,shop/b,shop/b/child"]);
  });

  test("of a pid from outside of the simulation is the pid's text", async () => {
    expect(await once(async (sim) => sim.path("nobody" as never))).toBe("nobody");
  });
});
