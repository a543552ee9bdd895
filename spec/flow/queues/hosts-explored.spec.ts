// Under the simulator: two hosts on one store, of which one stops at any step. The limits of a queue hold, each due time of a schedule
// starts one flow, and a session brings its values over.

import { defineFlow, type FlowHost, type FlowHostOptions, flowHost, schedule } from "signalbox/flow";
import { openStore, type Store } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { FLOW_SCHEMA, flows as rows } from "../../../lib/flow/journal/tables.js";
import { explored } from "../../support/proof.js";

const ENDED = ["completed", "failed", "cancelled", "killed"];

/** Two hosts with clocks of their own, and a reader of their store. */
async function pair(sim: Simulation, options: Omit<FlowHostOptions, "store">) {
  const source = sim.store({ shared: true });
  const start = async (name: string): Promise<FlowHost> =>
    sim
      .system({ name, clock: { driftPpm: [0, -300_000, 200_000] } })
      .start(flowHost({ store: source, ...options }));
  const reader = await openStore(sim.system({ name: "reader" }), source, [FLOW_SCHEMA]);
  return { reader, start, a: await start("a"), b: await start("b") };
}

/** Looks at the store until all flows have ended. */
async function watch(
  sim: Simulation,
  reader: Store,
  count: number,
  check: (all: Rows) => void,
): Promise<Rows> {
  for (let i = 0; i < 400; i++) {
    const all = await reader.scan(rows, {});
    check(all);
    if (all.length >= count && all.every(({ status }) => ENDED.includes(status))) return all;
    await sim.sleep(200);
  }
  const left = (await reader.scan(rows, {})).filter(({ status }) => !ENDED.includes(status));
  throw new Error(
    `not ended: ${JSON.stringify(left.map(({ id, status, waiting, slot, holder, due, hospital }) => ({ id, status, waiting, slot, holder, due, hospital })))}`,
  );
}

type Rows = Awaited<ReturnType<typeof scan>>;
const scan = (store: Store) => store.scan(rows, {});

describe("two hosts of one store", () => {
  it("keep the limits of a queue and of its keys, also when one of them stops", async () => {
    await explored(
      async (sim) => {
        const job = defineFlow("job", { queue: "jobs" }, async (flow, ms: number) => {
          await flow.step("begin", () => undefined);
          await flow.sleep(ms);
          return flow.step("end", () => ms);
        });
        const queues = { jobs: { concurrency: 2, perKey: { concurrency: 1 } } };
        const { reader, a, b } = await pair(sim, { flows: [job], queues });
        const lanes = ["x", "x", "y", "z", "z"];
        for (const [i, key] of lanes.entries())
          await (i % 2 === 0 ? a : b).start(job, sim.oneOf([0, 50, 400], "length"), { id: `j${i}`, key });
        const stops = sim.choose(2, "a stops") === 1;
        const stopping = stops ? sim.sleep(sim.oneOf([0, 60, 300], "when")).then(() => a.stop()) : undefined;
        const all = await watch(sim, reader, lanes.length, (now) => {
          const held = now.filter(({ slot }) => slot !== null).map((row) => row.queue_key);
          expect(held.length).toBeLessThanOrEqual(2);
          expect(new Set(held).size).toBe(held.length);
          sim.sometimes("the queue is full", held.length === 2);
        });
        expect(all.map(({ status }) => status)).toEqual(lanes.map(() => "completed"));
        await stopping;
        if (!stops) await a.stop();
        await b.stop();
        await reader.close();
      },
      { quick: 8, seed: 11, share: 0.05, sometimes: ["the queue is full"] },
    );
  });

  it("and a third start no more flows in a period than the rates of a queue allow, also when one stops [U3]", async () => {
    await explored(
      async (sim) => {
        const began: { readonly key: string; readonly at: number }[] = [];
        const job = defineFlow("job", { queue: "jobs" }, async (flow, key: string) => {
          await flow.step("begin", () => void began.push({ key, at: sim.now }));
        });
        const queues = {
          jobs: { rate: { limit: 3, period: 1_000 }, perKey: { rate: { limit: 1, period: 2_000 } } },
        };
        const { reader, start, a, b } = await pair(sim, { flows: [job], queues });
        const c = await start("c");
        const hosts = [a, b, c];
        const keys = ["x", "y", "z", "x", "y", "z", "v", "w"];
        for (const [i, key] of keys.entries()) await hosts[i % 3]?.start(job, key, { id: `j${i}`, key });
        const stops = sim.choose(2, "a stops") === 1;
        const stopping = stops ? sim.sleep(sim.oneOf([0, 60, 900], "when")).then(() => a.stop()) : undefined;
        await watch(sim, reader, keys.length, () => undefined);
        // A clock may run fast by a fifth, and a step begins a little after the commit that admits its flow.
        const most = (ms: number, of: (key: string) => boolean): number =>
          Math.max(
            ...began.map(
              ({ at }) => began.filter((one) => of(one.key) && one.at > at - ms && one.at <= at).length,
            ),
          );
        expect(most(700, () => true)).toBeLessThanOrEqual(3);
        for (const key of keys) expect(most(1_500, (one) => one === key)).toBeLessThanOrEqual(1);
        await stopping;
        for (const host of stops ? [b, c] : hosts) await host.stop();
        await reader.close();
      },
      { quick: 8, seed: 14, share: 0.05 },
    );
  });

  it("start one flow at each due time of a schedule, though both look at it", async () => {
    await explored(
      async (sim) => {
        const runs: string[] = [];
        const tick = defineFlow("tick", async (flow) => flow.step("note", () => void runs.push(flow.flowId)));
        const schedules = [schedule("tick", { every: 1_000, flow: tick, missed: "all" })];
        const { reader, a, b } = await pair(sim, { flows: [tick], schedules });
        await sim.sleep(4_000);
        const stops = sim.choose(2, "a stops") === 1;
        if (stops) await a.stop();
        await sim.sleep(4_000);
        const all = await watch(sim, reader, 5, () => undefined);
        const dues = all.map(({ id }) => Date.parse(id.slice("tick/".length)) / 1_000).sort((x, y) => x - y);
        expect(dues).toEqual(dues.map((_, i) => (dues[0] as number) + i));
        expect([...runs].sort()).toEqual([...new Set(runs)].sort());
        if (!stops) await a.stop();
        await b.stop();
        await reader.close();
      },
      { quick: 8, seed: 12, share: 0.05 },
    );
  });

  it("bring the values of a session over, in order, also when one of them stops", async () => {
    await explored(
      async (sim) => {
        const adder = defineFlow("adder", { answers: "add" }, async (flow) => {
          const session = await flow.accept("add");
          const got: number[] = [];
          for await (const value of session) {
            got.push(value as number);
            await session.send(got.length);
          }
          return got;
        });
        const asker = defineFlow("asker", async (flow) => {
          const session = await flow.session(adder, "add");
          const counts: number[] = [];
          for (const n of [7, 8, 9]) counts.push(await session.sendAndReceive<number>(n));
          await session.close();
          return counts;
        });
        const { reader, a, b } = await pair(sim, { flows: [adder, asker] });
        await a.start(asker, undefined, { id: "s" });
        const stops = sim.choose(2, "a stops") === 1;
        const stopping = stops ? sim.sleep(sim.oneOf([0, 1, 5], "when")).then(() => a.stop()) : undefined;
        await watch(sim, reader, 2, () => undefined);
        await stopping;
        expect(await b.get("s").result()).toEqual([1, 2, 3]);
        expect(await b.get("s/session add/answer").result()).toEqual([7, 8, 9]);
        if (!stops) await a.stop();
        await b.stop();
        await reader.close();
      },
      { quick: 8, seed: 13, share: 0.05 },
    );
  });
});
