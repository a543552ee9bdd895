// Pipelines whose messages travel over a broker, under the simulator: whichever host dies, whatever the broker forgets, every message is
// settled once, the outputs are there once, and the execution completes once.

import { supervisor } from "signalbox";
import { definePipeline, type PipelineHost, pipelineHost, queue, route } from "signalbox/pipeline";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../support/proof.js";
import { SimulatedBroker } from "./queues/simulated-broker.js";
import { tellingEnds } from "./simulated/audit.js";
import { Job } from "./simulated/job.js";
import { checked, end, start } from "./simulated/play.js";

const INPUTS = 30;

/** Hosts of one store and one broker. */
async function played(sim: Simulation, names: readonly string[]): Promise<void> {
  const jobs = names.map(() => new Job());
  const shared = names.length > 1;
  const source = sim.store({ shared, failures: { answer: true, atMost: 2 } });
  const broker = new SimulatedBroker(sim, { failures: 3 });
  const hosts: PipelineHost[] = [];
  sim.calm();
  for (const [i, name] of names.entries()) {
    const job = jobs[i] as Job;
    const system = sim.system({ name });
    const host = pipelineHost({
      ...{ pipelines: [job.pipeline], name: "pipelines", drainMs: 50, carrier: broker.source() },
      store: tellingEnds(source, () => job.completions++),
    });
    const children = [{ id: "pipelines", start: host }];
    await system.start(supervisor({ label: "root", intensity: 1_000, children }));
    hosts.push(host.at(system, "pipelines"));
  }
  sim.storm();
  const forget = sim.io("strike", () => broker.forget(), { latencyMs: [0, 20, 100, 5_000] });
  const struck = sim.choose(2, "the broker forgets") === 1 ? forget() : undefined;
  const [first] = hosts as [PipelineHost];
  await start(sim, jobs[0] as Job, async () => first, "one");
  const ends = await Promise.all(hosts.map((host) => end(sim, async () => host, "one")));
  await struck;
  for (const { status } of ends) expect(status).toBe("completed");
  const together = new Job();
  for (const job of jobs) together.join(job);
  await checked(sim, together, source, "one");
  expect(together.completions).toBeLessThanOrEqual(1);
  expect(broker.remade).toBe(0);
  sim.sometimes(
    "all worked",
    jobs.every((job) => (job.written.get("one")?.size ?? 0) > 0),
  );
}

describe("pipelines over a broker", () => {
  it("settle every message once and complete once, whichever of two hosts dies and whatever the broker forgets [Y84]", async () => {
    await explored((sim) => played(sim, ["a", "b"]), {
      ...{ quick: 5, seed: 1, share: 0.1, sometimes: ["all worked"] },
      faults: {
        crash: [
          { of: ["a/root/pipelines", "b/root/pipelines"], atMost: 1, reason: "kill" },
          { of: ["a/root/**", "b/root/**"], atMost: 2, reason: "kill" },
        ],
      },
    });
  });

  it("settle every message once and complete once on the store of one process, whenever its host dies", async () => {
    await explored((sim) => played(sim, ["a"]), {
      ...{ quick: 2, seed: 2, share: 0.02 },
      faults: { crash: { of: "a/root/pipelines", atMost: 2, reason: "kill" } },
    });
  });

  it("publish a message once, whichever host does it, and none that a host has room for itself [Y481]", async () => {
    const numbers = queue<number>("numbers");
    const parts = queue<number>("parts");
    const lines = definePipeline("lines", {
      routes: [
        route("split", { from: numbers, concurrency: 2 })
          .via("split", (n: number) => n)
          .to(parts),
        route("write", { from: parts, concurrency: 2 }).via("write", () => undefined),
      ],
    });
    await explored(
      async (sim) => {
        sim.calm();
        const source = sim.store({ shared: true });
        const broker = new SimulatedBroker(sim);
        const hosts: PipelineHost[] = [];
        for (const name of ["a", "b", "c"]) {
          const definition = pipelineHost({ pipelines: [lines], carrier: broker.source(), store: source });
          hosts.push(await sim.system({ name }).start(definition));
        }
        const values = [...Array(INPUTS).keys()];
        await hosts[0]?.start(lines, { id: "one", messages: { to: numbers, values } });
        const ends = await Promise.all(hosts.map((host) => host.get("one").completed()));
        expect(ends.map(({ done }) => done)).toEqual([2 * INPUTS, 2 * INPUTS, 2 * INPUTS]);
        expect(Math.max(...broker.published.values())).toBe(1);
        expect(broker.published.size).toBeLessThan(2 * INPUTS);
      },
      { quick: 5, seed: 3, share: 0.05 },
    );
  });

  it("go on with the messages of other queues when the broker cannot make the channel of one [Y882]", async () => {
    const numbers = queue<number>("numbers");
    const bad = queue<number>("bad");
    const good = queue<number>("good");
    await explored(
      async (sim) => {
        sim.calm();
        const written = { bad: 0, good: 0 };
        const lines = definePipeline("lines", {
          routes: [
            route("split", { from: numbers }).to(bad).to(good),
            route("stuck", { from: bad }).via("count", () => void written.bad++),
            route("free", { from: good }).via("count", () => void written.good++),
          ],
        });
        const broker = new SimulatedBroker(sim, { refuses: "-bad-" });
        const definition = pipelineHost({
          ...{ pipelines: [lines], carrier: broker.source(), store: sim.store() },
        });
        const host = await sim.system({ name: "a" }).start(definition);
        const values = [...Array(INPUTS).keys()];
        await host.start(lines, { id: "one", messages: { to: numbers, values } });
        await sim.eventually("those of the other queue are done", () => written.good === INPUTS);
        expect(written.bad).toBe(0);
        broker.accept();
        const { done } = await host.get("one").completed();
        expect([done, written]).toEqual([3 * INPUTS, { bad: INPUTS, good: INPUTS }]);
      },
      { quick: 2, seed: 4, share: 0.02 },
    );
  });
});
