// A stop of the system under any schedule: whatever fails and whatever requests come meanwhile, every child has the shutdown
// time of its spec, and in the end nothing runs.

import { type Callbacks, type Pid, type SupervisorRef, type System, stop, supervisor } from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";

/** Longer than a plain process has, shorter than its spec allows. */
const CLEANING_MS = 7_000;

interface Log {
  /** Children that came up and have yet to clean up. */
  readonly dirty: Set<Pid>;
  startedLate: number;
}

function follow(sim: Simulation, system: System): Log {
  const log: Log = { dirty: new Set(), startedLate: 0 };
  system.events.on("spawn", () => {
    if (system.stopped) log.startedLate++;
  });
  sim.finally("nothing runs", () => system.population === 0);
  sim.finally("nothing was started after the end", () => log.startedLate === 0);
  return log;
}

/** A child that needs time to clean up, and fails on command. */
function cleaner(sim: Simulation, log: Log): Callbacks<"fail"> {
  return {
    init: (ctx) => {
      ctx.trapExit(true);
      log.dirty.add(ctx.self);
    },
    handle: () => stop({ type: "custom", value: "failed" }),
    terminate: async (ctx) => {
      await sim.sleep(CLEANING_MS);
      log.dirty.delete(ctx.self);
    },
  };
}

/** `a` under the root, `b` under a branch of it. */
async function tree(sim: Simulation, system: System, log: Log): Promise<SupervisorRef> {
  const start = cleaner(sim, log);
  const spec = { start, shutdown: CLEANING_MS + 1 } as const;
  const branch = supervisor({ label: "branch", children: [{ id: "b", name: "b", ...spec }] });
  const children = [
    { id: "a", name: "a", ...spec },
    { id: "branch", start: branch },
  ];
  return system.start(supervisor({ strategy: "rest_for_one", children }));
}

/** A request that the supervisor may or may not come to. */
function ask(root: SupervisorRef): void {
  root.startChild({ id: "c", start: { handle: () => undefined } }).catch(() => undefined);
}

describe("in every schedule", () => {
  it("a stop lets each child clean up and ends everything, while children fail and requests come [Q1]", async () => {
    await exhausted(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const log = follow(sim, system);
        sim.finally("each child has cleaned up", () => log.dirty.size === 0);
        const root = await tree(sim, system, log);
        system.send("a", "fail");
        system.send("b", "fail");
        const asks = system.spawn<string>({ handle: () => ask(root) }, { label: "asks" });
        system.send(asks, "go on");
        const boss = system.spawn<string>({ handle: () => void system.stop() }, { label: "boss" });
        system.send(boss, "stop");
        await sim.sleep(60_000);
      },
      { name: "all stops" },
    );
  });

  it("a stop that begins while a tree starts ends everything [Q4]", async () => {
    await exhausted(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const log = follow(sim, system);
        sim.finally("each child has cleaned up", () => log.dirty.size === 0);
        const started = tree(sim, system, log).catch(() => sim.sometimes("the start fails"));
        const boss = system.spawn<string>({ handle: () => void system.stop() }, { label: "boss" });
        system.send(boss, "stop");
        await sim.sleep(60_000);
        await started;
      },
      {
        name: "all stops during a start",
        sometimes: ["the start fails"],
      },
    );
  });
});

describe("under any schedule", () => {
  it("a stop ends within its limit, whatever crashes, and leaves nothing running [Q3]", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const log = follow(sim, system);
        const limit = sim.oneOf([0, 3_000, 20_000], "limit");
        await tree(sim, system, log).catch(() => undefined);
        const begun = sim.now;
        let lasted = 0;
        system.events.on("exit", ({ pid }) => {
          if (pid.label !== "exited") lasted = sim.now - begun;
        });
        sim.finally(
          "the stop did not take longer than its limit",
          () => lasted <= limit || `it took ${lasted} ms`,
        );
        await system.stop({ timeoutMs: limit });
        if (log.dirty.size > 0) sim.sometimes("it was too short for a child");
      },
      {
        quick: 100,
        name: "stops with a limit",
        faults: {
          crash: { of: ["s/supervisor", "s/supervisor/**"], atMost: 3 },
          pause: { of: "s/**", forMs: [1, 20] },
        },
        sometimes: ["it was too short for a child"],
      },
    );
  });
});
