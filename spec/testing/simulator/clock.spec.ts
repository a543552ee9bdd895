// Clocks of systems and nodes that drift and jump.

import { test as check, fc } from "@fast-check/vitest";
import type { System } from "signalbox";
import { type ClockOptions, type ExploreOptions, explore, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { causeOf } from "../support/found.js";

/** What the scenario gives in each schedule. */
async function outcomes<T>(
  scenario: (sim: Simulation) => Promise<T>,
  options: ExploreOptions = {},
): Promise<Set<T>> {
  const seen = new Set<T>();
  await explore(async (sim) => void seen.add(await scenario(sim)), { schedules: 100, ...options });
  return seen;
}

/** Times of a process: by its own clock, its wall clock, and the true time. */
interface Reading {
  readonly own: number;
  readonly wall: number;
  readonly at: number;
}

/** Reads the clock of a system at once, and after a timer. */
function readings(sim: Simulation, system: System, delayMs: number): Reading[] {
  const read: Reading[] = [];
  system.spawn({
    init: (ctx) => {
      const look = (): void => void read.push({ own: ctx.now(), wall: ctx.wallTime(), at: sim.now });
      look();
      ctx.runAfter(delayMs, look);
    },
    handle: () => undefined,
  });
  return read;
}

describe("a clock that drifts", () => {
  test("counts more or less than the true time, and its timers follow it [T28]", async () => {
    const seen = await outcomes(async (sim) => {
      const system = sim.system({ clock: { driftPpm: [0, 250_000, -500_000] } });
      const read = readings(sim, system, 100);
      await sim.sleep(500);
      return read.map(({ own, at }) => `${own} at ${at}`).join();
    });
    expect([...seen].sort()).toEqual(["0 at 0,100 at 100", "0 at 0,100 at 200", "0 at 0,100 at 80"]);
  });

  test("is the same for all systems of a node, over its power losses", async () => {
    const seen = await outcomes(
      async (sim) => {
        const node = sim.node("n", (one) => [one.system({ name: "a" }), one.system({ name: "b" })], {
          clock: { driftPpm: 1_000_000 },
        });
        await node.ready();
        await sim.sleep(10);
        node.crash();
        node.restart();
        const systems = await node.ready();
        const read = systems.map((system) => readings(sim, system, 4));
        await sim.sleep(20);
        return JSON.stringify(read.map((two) => two.map(({ own, at }) => [own, at])));
      },
      { schedules: 5 },
    );
    const each = [
      [20, 10],
      [24, 12],
    ];
    expect([...seen]).toEqual([JSON.stringify([each, each])]);
  });

  check.prop([fc.integer({ min: -900_000, max: 5_000_000 }), fc.integer({ min: 0, max: 1e12 })], {
    numRuns: 30,
  })("fires each timer once, not before its time", async (driftPpm, delayMs) => {
    await explore(
      async (sim) => {
        const read = readings(sim, sim.system({ clock: { driftPpm } }), delayMs);
        await sim.sleep(2e13);
        expect(read).toHaveLength(2);
        expect(read[1]?.own).toBeGreaterThanOrEqual(delayMs);
        expect(read[1]?.own).toBeLessThanOrEqual(delayMs * (1 + 1e-9));
      },
      { schedules: 1 },
    );
  });
});

describe("a wall clock that jumps", () => {
  const often = randomWalk({ rates: { clock: 0.3 } });
  const wall = (jumps: NonNullable<ClockOptions["jumps"]>) => async (sim: Simulation) => {
    const [read] = [readings(sim, sim.system({ clock: { jumps } }), 10)];
    const still = readings(sim, sim.system({ name: "right" }), 10);
    await sim.sleep(20);
    expect(still[1]?.wall).toBe((still[0]?.wall ?? 0) + 10);
    expect(read?.[1]?.own).toBe(10);
    return (read?.[1]?.wall ?? 0) - (still[1]?.wall ?? 0);
  };

  test("goes to one of the times given, as often as it says, without its timers [T28]", async () => {
    const once = await outcomes(wall({ byMs: [-500, 300] }), { strategy: often });
    expect([...once].sort((a, b) => a - b)).toEqual([-500, 0, 300]);
    const twice = await outcomes(wall({ byMs: [300], atMost: 2 }), { strategy: often });
    expect([...twice].sort((a, b) => a - b)).toEqual([0, 300, 600]);
  });

  test("does not jump while it is calm", async () => {
    const seen = await outcomes(
      (sim) => {
        sim.calm();
        return wall({ byMs: [300], atMost: Number.POSITIVE_INFINITY })(sim);
      },
      { strategy: often },
    );
    expect([...seen]).toEqual([0]);
  });

  test("is set by hand on a node", async () => {
    await explore(
      async (sim) => {
        const node = sim.node("n", (one) => one.system());
        const system = await node.ready();
        node.jumpClock(-1_000);
        const [read] = [readings(sim, system, 1), await sim.quiet()];
        const right = readings(sim, sim.system(), 1);
        await sim.quiet();
        expect(read[0]?.wall).toBe((right[0]?.wall ?? 0) - 1_000);
      },
      { schedules: 1 },
    );
  });
});

test.each<[string, unknown]>([
  ["clock.drift", { drift: 1 }],
  ["clock.driftPpm", { driftPpm: [] }],
  ["clock.driftPpm", { driftPpm: Number.NaN }],
  ["clock.driftPpm", { driftPpm: -1_000_000 }],
  ["clock.jumps.byMs", { jumps: { byMs: ["1"] } }],
  ["clock.jumps.atMost", { jumps: { atMost: 0 } }],
  ["clock.jumps.ms", { jumps: { ms: 5 } }],
])("the option %s is checked", async (path, clock) => {
  const cause = await causeOf((sim) => void sim.system({ clock: clock as ClockOptions }), { schedules: 1 });
  expect(cause).toMatchObject({ code: "ERR_OPTION", path });
});
