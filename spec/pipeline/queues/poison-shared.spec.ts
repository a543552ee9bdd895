// A message of a durable queue that ends the programs of three hosts without a word, where they share a store.

import { openStore } from "signalbox/store";
import type { SimulatedNode } from "signalbox/testing";
import { expect, it, vi } from "vitest";
import { witness } from "../../../lib/host/evidence/witness.js";
import { openQueues, type Queues } from "../../../lib/pipeline/queues/queues.js";
import { done } from "../../../lib/pipeline/queues/status.js";
import { deadMessages, QUEUE_SCHEMA, queued } from "../../../lib/pipeline/queues/tables.js";
import { EvidenceBox } from "../../support/evidence-box.js";
import { explored } from "../../support/proof.js";
import { SimulatedBroker } from "./simulated-broker.js";

const HOSTS = ["a", "b", "c"] as const;
type HostName = (typeof HOSTS)[number];
const POISON = "poison";
const GOOD = ["one", "two", "three"];
const MOST_DEATHS = 8;
const LOOK_MS = 100;
const WORK_MS = [1, 10, 2_000] as const;
/** Until the supervisor has started a program again. */
const RESTART_MS = [1, 10, 40] as const;
const MOST_LOOKS = 3_000;

it.each([
  ["in a store", false],
  ["over a broker", true],
])(
  "waits in quarantine after eight deaths of their programs, and no other one does: %s [Y600]",
  async (_, isCarried) => {
    await explored(
      async (sim) => {
        const joined = vi.spyOn(witness, "join");
        const store = sim.store({ shared: true });
        const broker = new SimulatedBroker(sim, {});
        const boxes = new Map(HOSTS.map((name) => [name, new EvidenceBox()]));
        const nodes = new Map<HostName, SimulatedNode<Queues>>();
        const handled = new Set<string>();
        let deaths = 0;
        const boot =
          (name: HostName) =>
          async (node: SimulatedNode): Promise<Queues> => {
            const queues = await openQueues(node.system(), {
              ...{ store, evidence: boxes.get(name) as EvidenceBox },
              ...(isCarried && { carrier: broker.source() }),
            });
            await queues.queue<string>("q").subscribe({ concurrency: 2 }, async ({ value }) => {
              if (value !== POISON) {
                await sim.sleep(sim.oneOf(WORK_MS, "work"));
                handled.add(value);
                return done;
              }
              await sim.sleep(LOOK_MS);
              deaths++;
              boxes.get(name)?.end();
              nodes.get(name)?.crash();
              return new Promise(() => undefined);
            });
            return queues;
          };
        for (const name of HOSTS) nodes.set(name, sim.node(name, boot(name)));
        const supervise = async (node: SimulatedNode<Queues>): Promise<void> => {
          for (;;) {
            await sim.sleep(sim.oneOf(RESTART_MS, "restart"));
            if (!node.powered) node.restart();
          }
        };
        for (const node of nodes.values()) void supervise(node);
        const reader = await openStore(sim.system({ name: "reader" }), store, [QUEUE_SCHEMA]);
        const values = ["one", POISON, "two", "three"];
        const first = await nodes.get("a")?.ready();
        await first?.queue<string>("q").publishMany(values.map((value) => ({ value, id: value })));
        for (let looks = 0; ; looks++) {
          const rows = await reader.scan(queued, {});
          const blamed = rows.filter(({ history }) => history !== null).map(({ id }) => id);
          expect(blamed).toEqual(blamed.length === 0 ? [] : [POISON]);
          expect(deaths).toBeLessThanOrEqual(MOST_DEATHS);
          if (blamed.length > 0 && handled.size === GOOD.length) break;
          expect(looks).toBeLessThan(MOST_LOOKS);
          await sim.sleep(LOOK_MS);
        }
        expect(await reader.scan(deadMessages, {})).toEqual([]);
        await reader.close();
        for (const [keeper] of joined.mock.calls) witness.leave(keeper);
        joined.mockRestore();
      },
      { quick: 10, share: 0.05, seed: 600 },
    );
  },
);
