// Pipelines under the simulator: whatever dies, fails or jumps at whichever step, every message is settled once, the counts are those of
// a model, the outputs are there once, and the execution completes once. Permits are scarce, so that one that is lost would stop it.

import { definePipeline, type PipelineHost, pipelineHost, queue, route } from "signalbox/pipeline";
import { StoreError, type StoreSource } from "signalbox/store";
import type { SimulatedNode, Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { watched } from "../flow/defects/support.js";
import { explored, proving } from "../support/proof.js";
import { audited, reading } from "./simulated/audit.js";
import { Job } from "./simulated/job.js";
import { checked, end, type Input, insisted, played, start, supervised } from "./simulated/play.js";

/** A state that many schedules have to reach; a few need not. */
function reached(sim: Simulation, label: string, holds: boolean): void {
  if (proving) sim.sometimes(label, holds);
}

const REPEATED = "an adapter was called again";

describe("a pipeline whose processes are killed at any step", () => {
  it("settles every message once and completes once, whichever worker, processor, source, execution or host dies [Y31]", async () => {
    await explored(
      async (sim) => {
        const job = new Job();
        const source = sim.store();
        const system = sim.system({ name: "shop" });
        sim.calm();
        const host = await supervised(system, job, source);
        sim.storm();
        await played(sim, job, async () => host, source);
        expect(job.completions).toBe(1);
        reached(sim, REPEATED, job.repeated > 0);
      },
      {
        quick: 5,
        share: 0.3,
        seed: 1,
        faults: {
          crash: [
            { of: "shop/root/**", atMost: 3, reason: "kill" },
            { of: "shop/root/pipelines", atMost: 1, reason: "kill" },
          ],
        },
      },
    );
  });
});

describe("a worker whose execution is killed", () => {
  it("ends with it, however long its adapter takes [Y135]", async () => {
    await explored(
      async (sim) => {
        const numbers = queue<number>("numbers");
        const work = route("work", { from: numbers, timeoutMs: Number.POSITIVE_INFINITY }).via(
          "work",
          (_n, ctx) => ctx.sleep(3_600_000),
        );
        const pipeline = definePipeline("slow", { routes: [work] });
        const system = sim.system({ name: "shop" });
        sim.calm();
        const host = await system.start(pipelineHost({ store: sim.store(), pipelines: [pipeline] }));
        sim.storm();
        const run = await host.start(pipeline, { messages: { to: numbers, values: [1] } });
        for (let i = 0; i < 20; i++) await sim.sleep(1);
        await run.cancel();
        await run.completed().catch(() => undefined);
      },
      {
        quick: 4,
        share: 0.1,
        seed: 7,
        faults: { crash: { of: "shop/*/execution*", reason: "kill" } },
      },
    );
  });
});

describe("a pipeline on a machine that loses power", () => {
  it("does so too, though commits are lost that were on their way to the disk [Y125]", async () => {
    await explored(
      async (sim) => {
        const job = new Job();
        const boot = async (node: SimulatedNode): Promise<PipelineHost> =>
          supervised(node.system(), job, node.store);
        const shop = sim.node("shop", boot, { store: { failures: { write: true, atMost: 1 } } });
        await played(sim, job, () => shop.ready(), shop.store);
        // The answer to the last commit may be lost with the machine.
        expect(job.completions).toBeLessThanOrEqual(1);
        reached(sim, "the power failed", shop.boots > 1);
        reached(sim, REPEATED, job.repeated > 0);
      },
      {
        quick: 4,
        share: 0.3,
        seed: 2,
        faults: { nodeCrash: { of: "shop", downMs: [0, 100], atMost: 3 } },
      },
    );
  });
});

describe("a pipeline that people pause, resume and cancel while its processes are killed", () => {
  it("completes with the same counts, or ends as cancelled with counts that add up [Y126]", async () => {
    await explored(
      async (sim) => {
        const job = new Job();
        const source = sim.store();
        const system = sim.system({ name: "shop" });
        sim.calm();
        const host = await supervised(system, job, source);
        sim.storm();
        const find = async (): Promise<PipelineHost> => host;
        await start(sim, job, find, "one");
        const run = host.get("one");
        for (let i = sim.choose(3, "pauses"); i > 0; i--) {
          await sim.sleep(sim.oneOf([0, 1, 3], "until the pause"));
          await insisted(sim, () => run.pause());
          await sim.sleep(sim.oneOf([0, 2, 5_000], "the pause"));
          await insisted(sim, () => run.resume());
        }
        if (sim.choose(2, "cancel") === 1) {
          await sim.sleep(sim.oneOf([0, 1, 4], "until the cancellation"));
          await insisted(sim, () => run.cancel());
        }
        const { status } = await end(sim, find, "one");
        reached(sim, status, true);
        if (status === "completed") await checked(sim, job, source, "one");
        else {
          expect(status).toBe("cancelled");
          sim.calm();
          const store = await reading(sim.system({ name: "reader" }), source);
          await audited(store, "one");
          await store.close();
        }
        expect(job.completions).toBe(status === "completed" ? 1 : 0);
      },
      {
        quick: 5,
        share: 0.1,
        seed: 3,
        faults: { crash: { of: "shop/root/**", atMost: 2, reason: "kill" } },
      },
    );
  });
});

describe("two executions of a pipeline side by side", () => {
  it("have each its own messages, counts and end, whichever process is killed (bug 21) [Y127]", async () => {
    await explored(
      async (sim) => {
        const job = new Job();
        const source = sim.store();
        const system = sim.system({ name: "shop" });
        sim.calm();
        const host = await supervised(system, job, source);
        sim.storm();
        const find = async (): Promise<PipelineHost> => host;
        const other: Input = {
          given: [{ name: "a", kind: "sour" }],
          read: [{ name: "g", kind: "laps", laps: 2 }],
        };
        await Promise.all([start(sim, job, find, "one"), start(sim, job, find, "other", other)]);
        await Promise.all([end(sim, find, "one"), end(sim, find, "other")]);
        await checked(sim, job, source, "one");
        await checked(sim, job, source, "other", other);
        expect(job.completions).toBe(2);
      },
      { quick: 2, share: 0.1, seed: 4, faults: { crash: { of: "shop/root/**", atMost: 2, reason: "kill" } } },
    );
  });
});

describe("a pipeline on a machine whose clock jumps", () => {
  it("tries again after each delay and completes, also when its host has started again in between (bug 42) [Y128]", async () => {
    await explored(
      async (sim) => {
        const job = new Job();
        const source = sim.store();
        const system = sim.system({
          name: "shop",
          clock: { jumps: { atMost: 2 }, driftPpm: [0, -200_000, 200_000] },
        });
        sim.calm();
        // The clock of a store in one process is that of the machine.
        const host = await supervised(
          system,
          job,
          clockedBy(source, () => system.kernel.env.wallTime()),
        );
        sim.storm();
        await played(sim, job, async () => host, source);
        expect(job.completions).toBe(1);
        reached(sim, "a message was tried again", job.retries > 0);
      },
      {
        quick: 3,
        share: 0.1,
        seed: 5,
        faults: { crash: { of: "shop/root/pipelines", atMost: 1, reason: "kill" } },
      },
    );
  });
});

/** A store that has the clock of its machine. */
function clockedBy(source: StoreSource, clock: () => number): StoreSource {
  return {
    label: source.label,
    open: async (schemas, context) =>
      new Proxy(await source.open(schemas, context), {
        get(store, name) {
          const value: unknown = name === "clock" ? async () => clock() : Reflect.get(store, name, store);
          return typeof value === "function" ? value.bind(store) : value;
        },
      }),
  };
}

class NoAnswerError extends StoreError {
  override readonly code = "ERR_STORE_UNREACHABLE";
}

describe("a pipeline whose store goes away and comes back", () => {
  it("goes on where it was and completes, whichever calls failed [Y129]", async () => {
    await explored(
      async (sim) => {
        const job = new Job();
        const source = sim.store();
        let isOut = false;
        let failed = 0;
        const system = sim.system({ name: "shop" });
        sim.calm();
        const failing = watched(source, () => {
          if (!isOut) return;
          failed++;
          throw new NoAnswerError("no answer");
        });
        const host = await supervised(system, job, failing);
        sim.storm();
        const outages = (async () => {
          for (let i = 1 + sim.choose(2, "outages"); i > 0; i--) {
            await sim.sleep(sim.oneOf([0, 1, 4, 9, 12], "until the outage"));
            isOut = true;
            await sim.sleep(sim.oneOf([1, 20, 2_000, 60_000], "the outage"));
            isOut = false;
          }
        })();
        await played(sim, job, async () => host, source);
        await outages;
        reached(sim, "a call of the store failed", failed > 0);
        expect(job.completions).toBe(1);
      },
      { quick: 4, share: 0.1, seed: 6 },
    );
  });
});
