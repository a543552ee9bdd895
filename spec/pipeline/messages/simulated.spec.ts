// Dead letters under the simulator: several hosts retry, drop and replay the same letters, and are killed at any step. Each letter is done
// once, in one place, and every count is exact.

import { definePipeline, type PipelineHost, queue, route } from "signalbox/pipeline";
import type { StoreSource } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { openPipelineOperations } from "../../../lib/pipeline/open-operations.js";
import { explored, proving } from "../../support/proof.js";
import { SimulatedBroker } from "../queues/simulated-broker.js";
import { hostOn } from "../simulated/hosts.js";

const LETTERS = 6;
const VALUES: readonly number[] = [...Array(LETTERS).keys()];

/** Numbers that are refused until somebody mends it. */
function job() {
  const at = { isMended: false };
  const numbers = queue<number>("numbers");
  // A worker that is killed has failed an attempt.
  const retry = { attempts: 4, backoff: { minMs: 1, maxMs: 1 } };
  const check = route("check", { from: numbers, concurrency: 2, retry }).via("check", () => {
    if (!at.isMended) throw new Error("not yet");
    return undefined;
  });
  return { at, numbers, pipeline: definePipeline("job", { routes: [check] }) };
}

/** Repeats a request until it is answered, with an error of its own too: `no` says which. */
async function asked<T>(
  sim: Simulation,
  request: () => Promise<T>,
  no: RegExp = /^$/,
): Promise<T | undefined> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (no.test((error as Error).message)) return undefined;
      await sim.sleep(50);
    }
  }
}

/** An execution whose messages are all dead, and that has completed. */
async function buried(sim: Simulation, host: PipelineHost, { numbers, pipeline }: ReturnType<typeof job>) {
  const messages = { to: numbers, values: VALUES };
  await asked(sim, () => host.start(pipeline, { id: "one", messages }));
  const { dead } = (await asked(sim, () => host.get("one").completed())) ?? {};
  expect(dead).toBe(LETTERS);
}

/** What each host does, some of it at the same time. Resolves with the ids of the replays. */
async function acted(sim: Simulation, hosts: readonly PipelineHost[]): Promise<string[]> {
  const replays: string[] = [];
  const acts = hosts.map(async (host, i) => {
    for (let n = 0; n < 2; n++) {
      await sim.sleep(sim.oneOf([0, 1, 3], "until it acts"));
      const { operations } = host;
      const what = sim.oneOf(["retry", "drop", "replay"] as const, "what it does");
      if (what === "retry") await asked(sim, () => operations.retryDead("one", { limit: 3 }));
      else if (what === "drop")
        await asked(sim, () => operations.dropDead("one", { limit: 1 }, { reason: "spam" }));
      else {
        const id = `replay-${i}-${n}`;
        const started = await asked(
          sim,
          () => operations.replay("one", { dead: true, id }),
          /it has no dead letters/,
        );
        if (started !== undefined) replays.push(id);
      }
    }
  });
  await Promise.all(acts);
  return replays;
}

/** Every letter is in one place, with one record. */
async function audited(
  sim: Simulation,
  host: PipelineHost,
  store: StoreSource,
  replays: readonly string[],
): Promise<void> {
  const summary = await asked(sim, () => host.get("one").completed());
  let copied = 0;
  for (const id of replays) {
    const replay = await asked(sim, () => host.get(id).completed());
    expect(replay).toMatchObject({ status: "completed", dead: 0, pending: 0, done: replay?.inputs });
    copied += replay?.inputs ?? 0;
  }
  sim.calm();
  const reader = await openPipelineOperations(sim.system({ name: "reader" }), store);
  const fates = { retried: 0, replayed: 0, dropped: 0, edited: 0 };
  const ids = new Set<string>();
  for await (const { id, turn, fate } of reader.deadRecords("one")) {
    expect(turn).toBe(1);
    fates[fate]++;
    ids.add(id);
  }
  expect(ids.size).toBe(fates.retried + fates.replayed + fates.dropped);
  const dead = LETTERS - ids.size;
  expect(copied).toBe(fates.replayed);
  expect(await reader.status("one")).toMatchObject({ status: "completed", pending: 0, dead, done: LETTERS });
  expect([summary?.replayed ?? 0, summary?.dropped ?? 0]).toEqual([fates.replayed, fates.dropped]);
  let completed = 0;
  for await (const { status } of reader.messages("one")) if (status === "completed") completed++;
  expect(completed).toBe(fates.retried);
  if (!proving) return reader.close();
  sim.sometimes("retried, and replayed", fates.retried * fates.replayed > 0);
  sim.sometimes("retried, and dropped", fates.retried * fates.dropped > 0);
  await reader.close();
}

async function played(
  sim: Simulation,
  names: readonly string[],
  store: StoreSource,
  broker?: SimulatedBroker,
): Promise<void> {
  const of = job();
  sim.calm();
  const hosts: PipelineHost[] = [];
  for (const name of names) hosts.push(await hostOn(sim, name, store, [of.pipeline], broker?.source()));
  const [first] = hosts as [PipelineHost];
  sim.storm();
  await buried(sim, first, of);
  of.at.isMended = true;
  const replays = await acted(sim, hosts.length === 1 ? [first, first] : hosts);
  await audited(sim, first, store, replays);
}

describe("dead letters that several hosts do something with, while these are killed", () => {
  it("are done once each, in one place, with exact counts: hosts that share a store [Y456]", async () => {
    await explored((sim) => played(sim, ["a", "b"], sim.store({ shared: true })), {
      ...{ quick: 6, share: 0.25, least: 50, seed: 456 },
      faults: { crash: { of: "*/root/**", atMost: 2, reason: "kill" } },
    });
  });

  it("are done once each, in one place, with exact counts: hosts whose messages a broker carries [Y457]", async () => {
    const scenario = (sim: Simulation): Promise<void> =>
      played(sim, ["a", "b"], sim.store({ shared: true }), new SimulatedBroker(sim, { failures: 2 }));
    await explored(scenario, {
      ...{ quick: 4, share: 0.1, least: 50, seed: 458 },
      faults: { crash: { of: "*/root/**", atMost: 2, reason: "kill" } },
    });
  });

  it("are done once each, in one place, with exact counts: one host with two callers [Y456]", async () => {
    await explored((sim) => played(sim, ["a"], sim.store()), {
      ...{ quick: 6, share: 0.25, least: 50, seed: 457 },
      faults: { crash: { of: "*/root/**", atMost: 2, reason: "kill" } },
    });
  });
});
