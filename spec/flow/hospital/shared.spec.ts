// A flow that ends the programs of three hosts without a word, where they share a store.

import { defineFlow, type FlowHost, flowHost } from "signalbox/flow";
import type { SimulatedNode } from "signalbox/testing";
import { expect, it, vi } from "vitest";
import { witness } from "../../../lib/host/evidence/witness.js";
import { EvidenceBox } from "../../support/evidence-box.js";
import { explored } from "../../support/proof.js";

const HOSTS = ["a", "b", "c"] as const;
type HostName = (typeof HOSTS)[number];
const POISON = "poison";
const GOOD = 3;
const MOST_DEATHS = 8;
const LOOK_MS = 100;
const STEP_MS = [1, 10, 2_000] as const;
/** Until the supervisor has started a program again: sooner than a claim lapses, and another host takes over what ran there and dies of it. */
const RESTART_MS = [1, 10, 40] as const;

it("is in hospital after eight deaths of their programs, and no other one is [J543]", async () => {
  await explored(
    async (sim) => {
      const joined = vi.spyOn(witness, "join");
      const store = sim.store({ shared: true });
      const boxes = new Map(HOSTS.map((name) => [name, new EvidenceBox()]));
      const nodes = new Map<HostName, SimulatedNode<FlowHost>>();
      let deaths = 0;
      const good = defineFlow("good", async (flow, n: number) => {
        await flow.step("work", () => sim.sleep(sim.oneOf(STEP_MS, "step")));
        return n;
      });
      const poison = (name: HostName) =>
        defineFlow(POISON, async (flow, _: null) => {
          await flow.step("wait", () => sim.sleep(1));
          await flow.step("harm", async () => {
            await sim.sleep(LOOK_MS);
            deaths++;
            boxes.get(name)?.end();
            nodes.get(name)?.crash();
            await new Promise(() => undefined);
          });
        });
      const boot = (name: HostName) => (node: SimulatedNode) =>
        node.system().start(
          flowHost({
            ...{ store, hostId: name, flows: [good, poison(name)] },
            evidence: boxes.get(name) as EvidenceBox,
          }),
        );
      for (const name of HOSTS) nodes.set(name, sim.node(name, boot(name)));
      const supervise = async (name: HostName): Promise<void> => {
        const node = nodes.get(name) as SimulatedNode<FlowHost>;
        for (;;) {
          await sim.sleep(sim.oneOf(RESTART_MS, "restart"));
          if (!node.powered) node.restart();
        }
      };
      for (const name of HOSTS) void supervise(name);
      const patients = new Set<string>();
      let isStarted = false;
      while (!patients.has(POISON)) {
        await sim.sleep(LOOK_MS);
        expect(deaths).toBeLessThanOrEqual(MOST_DEATHS);
        const host = await nodes.get(sim.oneOf(HOSTS, "asked"))?.ready();
        try {
          if (!isStarted && host !== undefined) {
            for (let n = 0; n < GOOD; n++) await host.start(good, n, { id: `good-${n}` });
            await host.start(good, GOOD, { id: `good-${GOOD}` });
            await host.start(poison(HOSTS[0]), null, { id: POISON });
            isStarted = true;
          }
          for (const { id } of (await host?.hospital.patients()) ?? []) patients.add(id);
        } catch {
          // It died while it was asked.
        }
      }
      expect([...patients]).toEqual([POISON]);
      for (const [keeper] of joined.mock.calls) witness.leave(keeper);
      joined.mockRestore();
    },
    { quick: 10, share: 0.05, seed: 543 },
  );
});
