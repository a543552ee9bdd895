// A service under any schedule: whatever fails while it starts, runs and stops, it ends once, in its order, and leaves nothing behind.

import { type Callbacks, stop, supervisor } from "signalbox";
import { type Ending, run } from "signalbox/service";
import type { Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { explored } from "../../support/proof.js";

/** A child that cleans up for a while when it stops, and fails on command. */
function cleaner(sim: Simulation, name: string, log: string[]): Callbacks<"fail"> {
  return {
    init: (ctx) => void ctx.trapExit(true),
    handle: () => stop({ type: "custom", value: "failed" }),
    terminate: async (_ctx, reason) => {
      if (reason.type === "custom") return;
      log.push(`${name} stops`);
      await sim.sleep(10);
      log.push(`${name} stopped`);
    },
  };
}

describe("under any schedule", () => {
  it("a stop is in order: not ready, hook, the tree from its end, and no end before [A15]", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const log: string[] = [];
        system.events.on("application", ({ phase }) => void log.push(phase));
        const children = ["a", "b"].map((id) => ({ id, name: id, start: cleaner(sim, id, log) }));
        const service = run(supervisor({ children }), {
          name: "shop",
          system,
          drainDelayMs: 5,
          onDrain: () => void log.push("hook"),
        });
        await service.started;
        if (sim.oneOf([true, false], "crash")) system.send("b", "fail");
        await Promise.all([service.stop(), service.stop()]);
        const order = log.join(", ");
        const tree = "b stops, b stopped, a stops, a stopped";
        const whole = `starting, running, draining, hook, stopping, ${tree}, stopped`;
        // A child that has failed just before is not there to be stopped.
        const short = "starting, running, draining, hook, stopping, a stops, a stopped, stopped";
        sim.finally("the order is right", () => order === whole || order === short || order);
        sim.finally("nothing runs", () => system.population === 0);
      },
      { name: "a stop in order", quick: 60 },
    );
  });

  it("a service ends once, with the right outcome, and nothing of it is left [A15]", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const log: string[] = [];
        const endings: Ending[] = [];
        const children = ["a", "b"].map((id) => ({
          id,
          name: id,
          start: cleaner(sim, id, log),
          shutdown: 20,
        }));
        const limit = sim.oneOf([5, 15, 1_000], "limit");
        const service = run(supervisor({ intensity: 0, children }), { system, drainTimeoutMs: limit });
        void service.ended.then((ending) => endings.push(ending));
        const boss = system.spawn<string>({ handle: () => void service.stop() }, { label: "boss" });
        const rival = system.spawn<string>({ handle: (ctx) => ctx.send("a", "fail") }, { label: "rival" });
        system.send(boss, "stop");
        system.send(rival, "fail");
        await sim.sleep(5_000);
        system.exit(boss, "kill");
        system.exit(rival, "kill");
        const outcome = endings[0]?.outcome;
        if (outcome !== undefined) sim.sometimes(outcome);
        sim.finally("it ended once", () => endings.length === 1);
        sim.finally("nothing runs", () => system.population === 0 || String(system.processes()));
        sim.finally("the phase says so", () => service.phase === "stopped");
      },
      { name: "a service ends once", quick: 100, sometimes: ["clean", "gaveUp", "drainTimedOut"] },
    );
  });

  it("no reading of the health says ready after the stop was asked for [A6]", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const log: string[] = [];
        const start = cleaner(sim, "a", log);
        const service = run(supervisor({ children: [{ id: "a", start }] }), { system });
        await service.started;
        let draining = false;
        system.events.on("application", ({ phase }) => {
          if (phase === "draining") draining = true;
        });
        const read = async (): Promise<void> => {
          const { ready } = await service.health.read();
          if (ready) sim.sometimes("ready");
          else sim.sometimes("not ready");
          sim.finally("not ready once it drains", () => !(ready && draining) || "ready while it drains");
        };
        const reading = read();
        await Promise.all([reading, service.stop()]);
        await read();
      },
      { name: "readiness and stops", quick: 50, sometimes: ["not ready"] },
    );
  });
});
