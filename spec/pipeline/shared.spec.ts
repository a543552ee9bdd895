// Several hosts on one store under the simulator: whichever host dies or loses its claim at whichever step, every message is settled once,
// the outputs are there once, and the execution completes once.

import {
  type BatchContext,
  deduplicate,
  definePipeline,
  feed,
  type PipelineDefinition,
  type PipelineHost,
  type Queue,
  queue,
  route,
} from "signalbox/pipeline";
import { openStore } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { NoAnswerError, watched } from "../flow/defects/support.js";
import { explored, proving } from "../support/proof.js";
import { hostOn } from "./simulated/hosts.js";
import { Job } from "./simulated/job.js";
import { checked, end, insisted, start, supervised } from "./simulated/play.js";

/** How long the claim of a host holds, by the clock of the store. */
const CLAIM_MS = 15_000;
const NAMES = ["a", "b"];
const WRITES: ReadonlySet<string> = new Set(["commit", "submit", "take"]);

describe("two hosts that share the work of an execution", () => {
  it("settle every message once and complete it once, whichever of them dies, lags, loses its claim or an answer [Y12]", async () => {
    await explored(
      async (sim: Simulation) => {
        const jobs = NAMES.map(() => new Job());
        const source = sim.store({ shared: true, failures: { answer: true, atMost: 2 } });
        const hosts: PipelineHost[] = [];
        sim.calm();
        let isCalm = true;
        let lost = 0;
        /** What the call does takes place; nobody ever knows. */
        const lose = (method: string): void => {
          if (isCalm || !WRITES.has(method) || lost >= 3 || sim.choose(4, "the answer") > 0) return;
          lost++;
          throw new NoAnswerError("no answer");
        };
        const written = (): number => jobs.reduce((all, job) => all + (job.written.get("one")?.size ?? 0), 0);
        let known = 0;
        let cut = 0;
        /** The first call behind a write to the world outside: it may not take place, and the write is done again. */
        const cutOff = (method: string): void => {
          if (!WRITES.has(method) || written() === known) return;
          known = written();
          if (isCalm || cut >= 2 || sim.choose(3, "the call behind a write") !== 1) return;
          cut++;
          throw new NoAnswerError("no connection");
        };
        for (const [i, name] of NAMES.entries()) {
          const system = sim.system({ name, clock: { driftPpm: [0, -700_000, 200_000] } });
          const unsure = watched(source, cutOff, lose);
          hosts.push(await supervised(system, jobs[i] as Job, unsure));
        }
        const store = await openStore(sim.system({ name: "operator" }), source, [PIPELINE_SCHEMA]);
        sim.storm();
        isCalm = false;
        const any = async (): Promise<PipelineHost> =>
          sim.oneOf([hosts[0], hosts[1]] as [PipelineHost, PipelineHost], "host");
        await start(sim, jobs[0] as Job, any, "one");
        const revoked = (async () => {
          for (let i = sim.choose(3, "revocations"); i > 0; i--) {
            await sim.sleep(sim.oneOf([0, 5, CLAIM_MS], "until the revocation"));
            const [claim] = await store.claims("pipelines/host/");
            if (claim !== undefined) await store.revoke(claim.name, claim.token);
          }
        })();
        const ends = await Promise.all(hosts.map((host) => end(sim, async () => host, "one")));
        await revoked;
        await store.close();
        expect(ends.map(({ status }) => status)).toEqual(["completed", "completed"]);
        const together = new Job();
        for (const job of jobs) together.join(job);
        await checked(sim, together, source, "one");
        // The answer to the commit that completes it may be lost.
        expect(together.completions).toBeLessThanOrEqual(1);
        sim.sometimes(
          "both worked",
          jobs.every((job) => (job.written.get("one")?.size ?? 0) > 0),
        );
        sim.sometimes("an adapter was called again", together.repeated > 0);
        sim.sometimes("an answer was lost", lost > 0);
      },
      {
        quick: 24,
        least: 60,
        share: 0.3,
        seed: 7,
        sometimes: ["both worked", "an adapter was called again", "an answer was lost"],
        faults: {
          crash: [
            { of: ["a/root/pipelines", "b/root/pipelines"], atMost: 2, reason: "kill" },
            { of: ["a/root/**", "b/root/**"], atMost: 6, reason: "kill" },
          ],
        },
      },
    );
  });
});

/** The kill of a host, which its supervisor starts again. */
const kills = (atMost: number, ...names: string[]) => ({
  crash: { of: names.map((name) => `${name}/root/pipelines`), atMost, reason: "kill" as const },
});
const MINUTE_MS = 60_000;

describe("a source of an execution that two hosts share", () => {
  it("is read by one of them at a time, and goes over when that one dies, without gap or repeat [Y13]", async () => {
    await explored(
      async (sim) => {
        const numbers = queue<number>("numbers");
        const seen = new Map<string, number>();
        const opened: string[] = [];
        /** Readers that are open on hosts that live. */
        const open = new Set<AbortSignal>();
        const pipeline = (host: string): PipelineDefinition => {
          const source = {
            name: "counter",
            async *open({
              checkpoint = 0,
              signal,
            }: {
              readonly checkpoint?: number | undefined;
              readonly signal: AbortSignal;
            }) {
              // The reader of a host that was killed gives nothing any more, and is gone before any time passes.
              await sim.sleep(1);
              for (const other of open) if (other.aborted) open.delete(other);
              expect(open.size).toBe(0);
              open.add(signal);
              opened.push(host);
              for (let i = checkpoint; i < 6; i++) {
                await sim.sleep(2);
                yield { value: i, checkpoint: i + 1 };
              }
              open.delete(signal);
            },
          };
          const note = route("note", { from: numbers }).via("note", (n, ctx) => void seen.set(ctx.id, n));
          return definePipeline("read", { routes: [note], sources: [feed(source, numbers)] });
        };
        const store = sim.store({ shared: true });
        sim.calm();
        const a = await hostOn(sim, "a", store, [pipeline("a")]);
        const b = await hostOn(sim, "b", store, [pipeline("b")]);
        await insisted(sim, () => a.start(pipeline("a"), { id: "one" }));
        sim.storm();
        expect(await end(sim, async () => b, "one")).toMatchObject({
          status: "completed",
          inputs: 6,
          done: 6,
        });
        expect([...seen.values()].sort()).toEqual([0, 1, 2, 3, 4, 5]);
        sim.sometimes("it went over", new Set(opened).size > 1);
      },
      { quick: 24, share: 0.1, seed: 2, sometimes: ["it went over"], faults: kills(2, "a", "b") },
    );
  });
});

/** A route whose messages take a while, and what it has seen. */
function slowly(): {
  readonly numbers: Queue<number>;
  readonly pipeline: PipelineDefinition;
  readonly seen: number[];
} {
  const numbers = queue<number>("numbers");
  const seen: number[] = [];
  const work = route("work", { from: numbers }).via("work", async (n, ctx) => {
    await ctx.sleep(5);
    seen.push(n);
    return undefined;
  });
  return { numbers, pipeline: definePipeline("slowly", { routes: [work] }), seen };
}

describe("a wait for the end of a shared execution", () => {
  it("ends on every host, those without the pipeline too, whichever host dies before it notifies them [Y15]", async () => {
    await explored(
      async (sim) => {
        const { numbers, pipeline } = slowly();
        const store = sim.store({ shared: true });
        sim.calm();
        const hosts = [
          await hostOn(sim, "a", store, [pipeline]),
          await hostOn(sim, "b", store, [pipeline]),
          await hostOn(sim, "c", store, []),
        ] as const;
        await insisted(sim, () =>
          hosts[0].start(pipeline, { id: "one", messages: { to: numbers, values: [1, 2, 3] } }),
        );
        sim.storm();
        const ends = await Promise.all(hosts.map((host) => end(sim, async () => host, "one")));
        for (const one of ends) expect(one).toEqual(ends[0]);
        expect(ends[0]).toMatchObject({ status: "completed", done: 3, pending: 0 });
      },
      { quick: 3, share: 0.1, seed: 3, faults: kills(2, "a", "b") },
    );
  });
});

describe("a shared execution that is paused, resumed and cancelled on hosts that do not run it", () => {
  it("stands still on all hosts, goes on, and ends [Y16]", async () => {
    await explored(
      async (sim) => {
        const { numbers, pipeline, seen } = slowly();
        const store = sim.store({ shared: true });
        sim.calm();
        const a = await hostOn(sim, "a", store, [pipeline]);
        await hostOn(sim, "b", store, [pipeline]);
        const c = await hostOn(sim, "c", store, []);
        sim.storm();
        const values = Array.from({ length: proving ? 400 : 120 }, (_, i) => i);
        await insisted(sim, () => a.start(pipeline, { id: "one", messages: { to: numbers, values } }));
        const there = c.get("one");
        expect(await there.pause()).toBe(true);
        await sim.sleep(1_000);
        const still = seen.length;
        await sim.sleep(1_000);
        expect(seen.length).toBe(still);
        expect(still).toBeLessThan(values.length);
        expect(await there.progress()).toMatchObject({ inputs: values.length, done: still });
        expect(await there.status()).toMatchObject({ status: "paused" });
        await there.resume();
        await sim.sleep(200);
        if (sim.choose(2, "cancel") === 1) {
          await there.cancel();
          expect(await end(sim, async () => a, "one")).toMatchObject({ status: "cancelled" });
        } else {
          const { length: done } = values;
          expect(await end(sim, async () => a, "one")).toMatchObject({ status: "completed", done });
        }
      },
      { quick: 2, share: 0.1, seed: 4 },
    );
  });
});

describe("batches that two hosts hold in part", () => {
  it("are processed when they are all that is pending, long before their time, those upstream first [Y17]", async () => {
    await explored(
      async (sim) => {
        const numbers = queue<number>("numbers");
        const parts = queue<number>("parts");
        const sums = queue<number>("sums");
        const totals: number[] = [];
        const batchHosts = new Set<string>();
        const hour = 3_600_000;
        const pipeline = (host: string): PipelineDefinition => {
          const spread = route("spread", { from: numbers })
            .via("spread", async (n, ctx) => {
              await ctx.sleep(20);
              return n;
            })
            .to(parts);
          const add = route("add", { from: parts })
            .batch("add", { size: 1_000, everyMs: hour }, (all) => {
              batchHosts.add(host);
              return [all.reduce((a, b) => a + b, 0)];
            })
            .to(sums);
          const total = route("total", { from: sums }).batch(
            "total",
            { size: 1_000, everyMs: hour },
            (all) => {
              totals.push(...all);
              return undefined;
            },
          );
          return definePipeline("batches", { routes: [spread, add, total] });
        };
        const store = sim.store({ shared: true });
        sim.calm();
        const a = await hostOn(sim, "a", store, [pipeline("a")]);
        const b = await hostOn(sim, "b", store, [pipeline("b")]);
        sim.storm();
        const values = Array.from({ length: 30 }, (_, i) => i);
        await insisted(sim, () => a.start(pipeline("a"), { id: "one", messages: { to: numbers, values } }));
        const { status } = await insisted(sim, () => b.get("one").completed({ timeoutMs: MINUTE_MS }));
        expect([status, totals.reduce((x, y) => x + y, 0)]).toEqual(["completed", 435]);
        sim.sometimes("both held some", batchHosts.size === 2);
      },
      { quick: 2, share: 0.1, seed: 5, sometimes: ["both held some"], faults: kills(1, "a", "b") },
    );
  });
});

describe("deduplicate on two hosts", () => {
  it("lets one message of each key pass, and works on a message again whose step came too late [Y18]", async () => {
    await explored(
      async (sim) => {
        const words = queue<string>("words");
        const kept = queue<string>("kept");
        const passed = new Map<string, string>();
        const pipeline = definePipeline("once", {
          routes: [
            route("once", { from: words, concurrency: 2 })
              .via(deduplicate<string>("once", { key: (word) => word[0] as string }))
              .via("note", async (word, ctx) => {
                await ctx.sleep(1);
                return word;
              })
              .to(kept),
            route("kept", { from: kept }).via("keep", (word, ctx) => void passed.set(ctx.id, word)),
          ],
        });
        const store = sim.store({ shared: true });
        sim.calm();
        const a = await hostOn(sim, "a", store, [pipeline]);
        const b = await hostOn(sim, "b", store, [pipeline]);
        sim.storm();
        const values = ["a1", "a2", "a3", "b1", "b2", "b3", "a4", "b4", "a5", "b5", "c1", "c2"];
        await insisted(sim, () => a.start(pipeline, { id: "one", messages: { to: words, values } }));
        expect(await end(sim, async () => b, "one")).toMatchObject({
          status: "completed",
          inputs: 12,
          done: 15,
        });
        expect([...passed.values()].map((word) => word[0]).sort()).toEqual(["a", "b", "c"]);
      },
      { quick: 3, share: 0.1, seed: 6, faults: kills(1, "a", "b") },
    );
  });

  it("counts exactly what its batches remember, whichever host works on them [Y18]", async () => {
    await explored(
      async (sim) => {
        const numbers = queue<number>("numbers");
        const sums = queue<number>("sums");
        const passed = new Set<number>();
        const pipeline = definePipeline("sums", {
          routes: [
            route("sum", { from: numbers, concurrency: 2, prefetch: 2 })
              .batch("sum", { size: 2, everyMs: 5 }, async (values: readonly number[], ctx: BatchContext) => {
                const before = ((await ctx.recall("sum")) ?? 0) as number;
                await ctx.sleep(1);
                const sum = values.reduce((a, b) => a + b, before);
                ctx.remember("sum", sum);
                return [sum];
              })
              .to(sums),
            route("sums", { from: sums }).via("keep", (sum) => void passed.add(sum)),
          ],
        });
        const store = sim.store({ shared: true });
        sim.calm();
        const a = await hostOn(sim, "a", store, [pipeline]);
        const b = await hostOn(sim, "b", store, [pipeline]);
        sim.storm();
        const values = Array.from({ length: 12 }, (_, i) => 2 ** i);
        await insisted(sim, () => a.start(pipeline, { id: "one", messages: { to: numbers, values } }));
        expect(await end(sim, async () => b, "one")).toMatchObject({ status: "completed", inputs: 12 });
        // Each sum has the numbers of the one before, and some more: none is lost, and none is there twice.
        const all = [...passed].sort((x, y) => x - y);
        for (const [i, sum] of all.entries()) expect(sum & (all[i - 1] ?? 0)).toBe(all[i - 1] ?? 0);
        expect(all.at(-1)).toBe(2 ** 12 - 1);
      },
      { quick: 3, share: 0.1, seed: 7, faults: kills(1, "a", "b") },
    );
  });
});
