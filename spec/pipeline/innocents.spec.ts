// Ends of hosts that leave no evidence accuse no message: with the default options, and with adapters that fail as adapters do.

import { definePipeline, type PipelineHost, pipelineHost, queue, route } from "signalbox/pipeline";
import { openStore, type Store } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { deadLetters, executions, messages, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { EvidenceBox } from "../support/evidence-box.js";
import { explored } from "../support/proof.js";

const MESSAGES = 60;
const KILLS = 2;
/** The share of its speed that a host has at least. */
const AS_FAST = 0.8;

interface Trial {
  /** Hosts share the store. */
  readonly shared: boolean;
  /** How often the call of each message throws. */
  readonly throws: number;
  /** How often the machine of the host loses its power. */
  readonly kills: number;
}

interface Tried {
  /** How often each message was called after the last end. */
  readonly calls: ReadonlyMap<number, number>;
  /** How long the last life took to settle them, by the clock of the simulation. */
  readonly tookMs: number;
  readonly store: Store;
}

/** Runs an execution to its end, and kills its host while messages are in work. */
async function tried(sim: Simulation, { shared, throws, kills }: Trial, name = "shop"): Promise<Tried> {
  const calls = new Map<number, number>();
  let killed = 0;
  const numbers = queue<number>("numbers");
  const work = route("work", { from: numbers }).via("work", async (n) => {
    await sim.sleep(1);
    const call = (calls.get(n) ?? 0) + 1;
    if (killed < kills) return new Promise<undefined>(() => undefined);
    calls.set(n, call);
    if (call <= throws) throw new Error(`call ${call} fails`);
    return undefined;
  });
  const definition = definePipeline("count", { routes: [work] });
  const source = sim.store({ shared });
  const evidence = new EvidenceBox();
  const node = sim.node(name, (of): Promise<PipelineHost> => {
    const store = shared ? source : of.store;
    return of.system().start(pipelineHost({ store, pipelines: [definition], evidence }));
  });
  const values = Array.from({ length: MESSAGES }, (_, n) => n);
  let host = await node.ready();
  await host.start(definition, { id: "one", messages: { to: numbers, values } });
  while (killed < kills) {
    await sim.sleep(20);
    killed++;
    evidence.end();
    node.crash();
    node.restart();
    host = await node.ready();
  }
  const began = sim.now;
  await host.get("one").completed();
  const tookMs = sim.now - began;
  node.crash();
  const store = await openStore(sim.system({ name: `reader of ${name}` }), shared ? source : node.store, [
    PIPELINE_SCHEMA,
  ]);
  return { calls, tookMs, store };
}

describe("ends of a host that leave no evidence", () => {
  for (const shared of [false, true]) {
    const where = shared ? "in a store that hosts share" : "in a store of one host";
    for (const throws of [0, 1, 2])
      it(`count as no attempt: messages that fail ${throws} times have none of them for a dead letter, ${where} [Y220]`, async () => {
        await explored(
          async (sim) => {
            const { calls, store } = await tried(sim, { shared, throws, kills: KILLS });
            const [row] = await store.scan(executions, {});
            expect(row).toMatchObject({ status: "completed", done: MESSAGES, dead: 0, pending: 0 });
            expect(await store.scan(deadLetters, {})).toEqual([]);
            expect(await store.count(messages, {})).toBe(0);
            expect([...new Set(calls.values())]).toEqual([throws + 1]);
            await store.close();
          },
          { quick: 1, share: 0.01, seed: 220 },
        );
      });

    it(`slow nothing: the life after two of them is as fast as one without, ${where} [Y225]`, async () => {
      await explored(
        async (sim) => {
          const calm = await tried(sim, { shared, throws: 0, kills: 0 }, "calm");
          const killed = await tried(sim, { shared, throws: 0, kills: KILLS }, "killed");
          expect(calm.tookMs).toBeGreaterThan(0);
          expect(killed.tookMs * AS_FAST).toBeLessThanOrEqual(calm.tookMs);
          for (const { store } of [calm, killed]) await store.close();
        },
        { quick: 1, share: 0.01, seed: 225 },
      );
    });
  }
});
