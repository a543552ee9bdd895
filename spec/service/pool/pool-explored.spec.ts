// Services with a pool under the simulator: crashes of workers, jobs that take long and callers that give up, in every order.

import { supervisor } from "signalbox";
import { type PoolDefinition, type PoolOptions, type PoolRef, pool } from "signalbox/service";
import type { Scenario, Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { exhausted, explored } from "../../support/proof.js";
import { errorOf } from "./support.js";

type Labels = typeof import("./labels.js");
const url = new URL("./labels.ts", import.meta.url);
const labels = (options: PoolOptions = {}): PoolDefinition<Labels> =>
  pool<Labels>(url, { size: 2, deadlineMs: 100, name: "labels", ...options });

/** How a job may end whose worker or pool fails. */
const LOST = ["ERR_JOB_LOST", "ERR_JOB_DEADLINE", "ERR_CALLEE_EXITED", "ERR_POOL_STOPPING"];

/** How a job has ended: its value, or why there is none. */
async function fate(job: Promise<unknown>): Promise<unknown> {
  try {
    return await job;
  } catch (error) {
    const { code, name } = error as { code?: unknown; name: string };
    return name === "AbortError" ? name : code;
  }
}

/** A shop with a pool, and what it does with it. The pool is a child: it comes back when it gives up. */
const shop =
  (options: PoolOptions, work: (printing: PoolRef<Labels>, sim: Simulation) => Promise<void>): Scenario =>
  async (sim) => {
    const system = sim.system({ name: "shop" });
    const Labels = labels(options);
    try {
      await system.start(supervisor({ intensity: 100, children: [{ id: "labels", start: Labels }] }));
    } catch {
      // A worker that crashes while the pool starts fails the start.
      return system.stop();
    }
    const printing = Labels.at(system, "labels");
    await work(printing, sim);
    // From here on nothing fails: the pool has its workers again.
    await sim.eventually("the pool is back", () => system.whereis("labels") !== undefined);
    expect(await printing.with({ maxAttempts: 3 }).run.add(1, 2)).toBe(3);
    // A thread that may end when it is idle has a timer for that.
    if (options.minSize === undefined)
      expect(system.kernel.pendingTimers, "deadlines of jobs that have ended").toBe(0);
    await system.stop();
    expect(system.population).toBe(0);
  };

const FAULTS = {
  crash: [{ of: "**/worker*", atMost: 3 }],
  pause: { of: "**/worker*", forMs: [1, 1_000], atMost: 2 },
  rush: { atMost: 2 },
};

/** Three labels, two of which are printed by the same thread. */
async function printAll(printing: PoolRef<Labels>): Promise<void> {
  const fates = await Promise.all([1, 2, 3].map((id) => fate(printing.run({ id }))));
  for (const [i, one] of fates.entries()) expect([`label ${i + 1}`, ...LOST]).toContain(one);
}

describe("a pool under the simulator", () => {
  it("runs the functions of its worker file, clones what passes, and packs errors", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const printing = await system.start(labels());
        const order = { id: 7 };
        expect(await Promise.all([printing.run.add(1), printing.run(order)])).toEqual([2, "label 7"]);
        expect(await errorOf(printing.run.refuse())).toMatchObject({
          name: "NoLabelError",
          message: "no label",
        });
        const stop = new AbortController();
        const waiting = printing.with({ signal: stop.signal, onProgress: () => stop.abort() });
        expect(await fate(waiting.run.wait())).toBe("AbortError");
        await system.stop();
      },
      { quick: 20 },
    );
  });

  it("settles every job and works again, whatever happens to its workers [W12]", async () => {
    await explored(shop({ maxAttempts: 2 }, printAll), { quick: 40, faults: FAULTS });
  });

  it("settles jobs that are given up, and runs those behind them [W12]", async () => {
    const giveUp = async (printing: PoolRef<Labels>, sim: Simulation): Promise<void> => {
      const stop = new AbortController();
      const killOnAbort = sim.choose(2, "killOnAbort") === 1;
      const endless = fate(printing.with({ signal: stop.signal, killOnAbort }).run.wait());
      const behind = fate(printing.with({ timeoutMs: 50 }).run({ id: 1 }));
      const last = fate(printing.run({ id: 2 }));
      stop.abort();
      expect(["AbortError", ...LOST]).toContain(await endless);
      expect(["label 1", "ERR_CALL_TIMEOUT", ...LOST]).toContain(await behind);
      expect(["label 2", ...LOST]).toContain(await last);
    };
    await explored(shop({ size: 1 }, giveUp), { quick: 40, faults: FAULTS });
  });

  it("drains beside crashes, with threads that come and go [W12]", async () => {
    const stopEarly = async (printing: PoolRef<Labels>): Promise<void> => {
      const jobs = printAll(printing);
      printing.stop();
      await jobs;
    };
    const options: PoolOptions = { minSize: 0, idleMs: 10, maxJobs: 1, drain: "all", maxAttempts: 2 };
    const scenario = shop(options, stopEarly);
    await explored(scenario, { quick: 40, faults: FAULTS });
  });

  it("settles one job in every order of one crash and one deadline [W12]", async () => {
    const one = async (sim: Simulation): Promise<void> => {
      const system = sim.system({ name: "shop" });
      let printing: PoolRef<Labels>;
      try {
        printing = await system.start(labels({ size: 1 }));
      } catch {
        return system.stop();
      }
      expect(["label 1", ...LOST]).toContain(await fate(printing.run({ id: 1 })));
      return system.stop();
    };
    const faults = { crash: [{ of: "**/worker*", reason: "kill" as const }], rush: {} };
    await exhausted(one, { faults, quick: { preemptions: 0 } });
  });
});
