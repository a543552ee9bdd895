// Monitors: properties of a schedule as a whole.

import type { Pid } from "signalbox";
import { exhaustive, explore, LivenessError, type Scenario, type Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf, errorOf, failureOf } from "../support/found.js";

/** A lamp that goes on and off as it is told, `watch` sees how. */
const lamp =
  (orders: readonly string[], watch: (sim: Simulation, now: () => string) => void, ms = 0): Scenario =>
  async (sim) => {
    const system = sim.system({ name: "house" });
    let light = "off";
    const pid: Pid<string> = system.spawn<string>(
      {
        handle: (_ctx, order) => {
          light = order;
        },
      },
      { label: "lamp" },
    );
    watch(sim, () => light);
    for (const order of orders) {
      system.send(pid, order);
      await sim.sleep(ms);
    }
    await sim.quiet();
  };

describe("a monitor that something leads to something", () => {
  const goesOut =
    (withinMs?: number) =>
    (sim: Simulation, now: () => string): void =>
      sim.monitor.leadsTo(
        "the light goes out again",
        () => now() === "on",
        () => now() === "off",
        withinMs === undefined ? {} : { withinMs },
      );

  test("holds if it does each time, also in a later state", async () => {
    await explore(lamp(["on", "dim", "off", "on", "off"], goesOut()), { schedules: 20 });
    await explore(lamp([], goesOut()), { schedules: 1 });
  });

  test("fails if it does not before the schedule ends, and says from which step on [T14]", async () => {
    const error = await failureOf(lamp(["on", "off", "on"], goesOut(), 5));
    expect(error.cause).toBeInstanceOf(LivenessError);
    expect(error.cause).toMatchObject({ code: "ERR_SIM_LIVENESS", monitor: "the light goes out again" });
    const { sinceStep, message } = error.cause as LivenessError;
    const since = error.trace.steps[sinceStep - 1];
    expect(since).toMatchObject({ process: "house/lamp", at: 10 });
    expect(since?.effects.at(-1)).toEqual({
      type: "note",
      text: 'from here on "the light goes out again" is due',
    });
    expect(message).toBe(
      `"the light goes out again" was due from step ${sinceStep} on (at 10 ms) and did not come true in the next ` +
        `${error.trace.steps.length - sinceStep} steps, until the schedule ended`,
    );
  });

  test("fails if it does too late, in the step that shows it", async () => {
    await explore(lamp(["on", "off"], goesOut(10), 10), { schedules: 5 });
    const error = await failureOf(lamp(["on", "off"], goesOut(9), 10));
    expect((error.cause as Error).message).toContain("within 9 ms, but did not come true by 10 ms");
  });

  test("fails in a fair schedule that does not end, although it may be endless, and shows the cycle [T14]", async () => {
    const forEver: Scenario = async (sim) => {
      const system = sim.system({ name: "house" });
      let light = "off";
      const pid: Pid<string> = system.spawn<string>(
        {
          handle: (ctx, order) => {
            light = order;
            ctx.send(pid, light === "on" ? "dim" : "on");
          },
        },
        { label: "lamp" },
      );
      goesOut()(sim, () => light);
      system.send(pid, "on");
      await sim.quiet();
    };
    const error = await failureOf(forEver, { maxSteps: 200, endless: "pass" });
    expect((error.cause as Error).message).toContain(
      "of a schedule that does not end: steps 3 to 4 repeat, 99 times",
    );
    expect(error.trace.steps).toHaveLength(4);
  });

  test("does not fail in a schedule without an end in which the goal comes back again and again", async () => {
    const blinking: Scenario = async (sim) => {
      const system = sim.system({ name: "house" });
      let light = "off";
      const pid: Pid<string> = system.spawn<string>({
        handle: (ctx, order) => {
          light = order;
          ctx.send(pid, light === "on" ? "off" : "on");
        },
      });
      goesOut()(sim, () => light);
      system.send(pid, "on");
      await sim.quiet();
    };
    expect(await explore(blinking, { schedules: 3, maxSteps: 201, endless: "pass" })).toMatchObject({
      bounded: 3,
    });
  });
});

describe("a monitor that something is eventually so", () => {
  const burns =
    (withinMs?: number) =>
    (sim: Simulation, now: () => string): void =>
      sim.monitor.eventually(
        "the light burns",
        () => now() === "on",
        withinMs === undefined ? {} : { withinMs },
      );

  test("holds once it was so", async () => {
    await explore(lamp(["on", "off"], burns()), { schedules: 20 });
  });

  test("fails if it never is, or not in time", async () => {
    expect(await causeOf(lamp(["off", "dim"], burns()))).toMatchObject({ code: "ERR_SIM_LIVENESS" });
    await explore(lamp(["off", "on"], burns(10), 10), { schedules: 5 });
    expect(await causeOf(lamp(["off", "on"], burns(9), 10))).toMatchObject({ code: "ERR_SIM_LIVENESS" });
  });
});

describe("any monitor", () => {
  test("sees every order of steps, also of those that have nothing to do with each other [T14]", async () => {
    const two =
      (watched: boolean): Scenario =>
      async (sim) => {
        const system = sim.system();
        const done = new Set<string>();
        if (watched)
          sim.monitor.leadsTo(
            "b after a",
            () => done.has("a") && !done.has("b"),
            () => done.has("b"),
          );
        for (const name of ["a", "b"])
          system.spawn(() => {
            done.add(name);
          });
        await sim.quiet();
      };
    const of = async (watched: boolean): Promise<number> =>
      (await explore(two(watched), { strategy: exhaustive(), recheck: 0 })).schedules;
    expect(await of(true)).toBeGreaterThan(await of(false));
  });

  test("has a name, and known options", async () => {
    const wrong: [string, (sim: Simulation) => void][] = [
      ["name", (sim) => sim.monitor.always("", () => true)],
      ["name", (sim) => sim.monitor.eventually("", () => true)],
      ["withinMs", (sim) => sim.monitor.eventually("x", () => true, { withinMs: -1 })],
      ["options.within", (sim) => sim.monitor.eventually("x", () => true, { within: 1 } as never)],
    ];
    for (const [path, state] of wrong)
      expect(await causeOf((sim) => state(sim))).toMatchObject({ code: "ERR_OPTION", path });
  });

  test("answers at once, and does not throw", async () => {
    const promise = lamp(["on"], (sim) => sim.monitor.eventually("x", (async () => true) as never));
    expect(await errorOf(explore(promise))).toMatchObject({ code: "ERR_SIM_MODEL" });
    const throws = lamp(["on"], (sim) =>
      sim.monitor.eventually("x", () => {
        throw new Error("ill");
      }),
    );
    expect(await errorOf(explore(throws))).toMatchObject({ code: "ERR_SIM_MODEL" });
  });
});
