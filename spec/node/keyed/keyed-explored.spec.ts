// Keyed processes over three simulated nodes and one store, while nodes are cut off from each other and from their leases, lose power, and
// their processes are killed, and clocks jump. The model is the sum of what was acknowledged.

import { CalleeExitedError, CallTimeoutError, defineServer, supervisor } from "signalbox";
import {
  joinCluster,
  type KeyEntry,
  type Keyed,
  KeySaveError,
  KeyUnavailableError,
  keyed,
  keyedSchema,
} from "signalbox/nodes";
import { FencedError, openStore, StoreError } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { expect, test } from "vitest";
import { explored } from "../../support/proof.js";
import { type CutStore, cutStore } from "./keyed-world.js";

const KEYS = ["meter-1", "meter-2", "meter-3"] as const;
const MESSAGES = 4;

/** The numbers that were added, each once however often it was sent. */
interface Added {
  readonly numbers: readonly number[];
}

interface Life {
  readonly node: string;
  readonly entry: KeyEntry<Added>;
}

test("keyed processes lose nothing that was acknowledged, count nothing twice, and take no write of an old token, while nodes are cut off and lost and clocks jump [N1359]", async () => {
  await explored(
    async (sim: Simulation) => {
      const network = sim.network({
        latencyMs: [0, 20],
        partition: {
          atMost: 2,
          forMs: [10, 3_000],
          oneWay: true,
          silent: true,
        },
      });
      const source = sim.store({
        shared: true,
        failures: { answer: true, atMost: 1 },
      });
      const lives: Life[] = [];
      sim.calm();
      const Meter = defineServer({
        label: "meter",
        init: (_ctx, entry: KeyEntry<Added>, node: string) => {
          lives.push({ node, entry });
          return entry;
        },
        calls: {
          async add(entry: KeyEntry<Added>, n: number): Promise<number> {
            const { numbers } = entry.state ?? { numbers: [] };
            if (!numbers.includes(n)) await entry.save({ numbers: [...numbers, n] });
            return entry.lease.token;
          },
          read: (entry: KeyEntry<Added>) => entry.state?.numbers ?? [],
        },
      });
      const stores: CutStore[] = [];
      const seat = async (name: string, system: Parameters<typeof joinCluster>[0]) => {
        const node = await joinCluster(system, network);
        const store = cutStore(await openStore(system, source, [keyedSchema]));
        stores.push(store);
        const meters = keyed(node, {
          name: "meter",
          store,
          start: Meter,
          args: [name],
          shards: 2,
        });
        await system.start(
          supervisor({
            children: [{ id: "meters", start: meters }],
            intensity: 20,
          }),
        );
        return { meters, store };
      };
      const home = await seat("a", sim.system({ name: "a", clock: { jumps: { atMost: 1 } } }));
      const machines = ["b", "c"].map((name) =>
        sim.node(name, (machine) => seat(`${name}${machine.boots}`, machine.system())),
      );
      const seats = async (): Promise<{ meters: Keyed<typeof Meter>; store: CutStore }[]> => [
        home,
        ...(await Promise.all(machines.map((machine) => machine.ready()))),
      ];
      await seats();
      await sim.until("all shards to be held", () => home.meters.view().placed.length < 2);
      sim.storm();
      const acknowledged = new Map<string, number[]>(KEYS.map((key) => [key, []]));
      /** Every process that ever ran writes. Those of an old token are refused, and so are those that another one has overtaken. */
      const tryAll = async (): Promise<void> => {
        const newest = new Map<string, number>();
        for (const { entry } of lives)
          newest.set(entry.key, Math.max(newest.get(entry.key) ?? 0, entry.lease.token));
        for (const { entry } of [...lives]) {
          if (entry.lease.token >= (newest.get(entry.key) as number)) continue;
          const saved = entry.save({ numbers: [-1] }).then(
            () => "saved",
            (thrown: unknown) => thrown,
          );
          // The store of a machine that lost its power answers nobody.
          const error = await Promise.race([saved, sim.sleep(5_000)]);
          if (error === undefined) continue;
          expect(error).toBeInstanceOf(Error);
          expect([FencedError, KeySaveError, StoreError].some((one) => error instanceof one)).toBe(true);
          sim.sometimes("an old holder was refused", error instanceof FencedError);
        }
      };
      const sends = Array.from({ length: MESSAGES }, async (_, n) => {
        await sim.sleep(sim.oneOf([0, 50, 2_500], "when"));
        const key = sim.oneOf(KEYS, "key");
        const isRepeated = n % 2 === 0;
        try {
          await home.meters.at(key, { timeoutMs: 20_000, repeat: isRepeated }).call.add(n);
          acknowledged.get(key)?.push(n);
        } catch (error) {
          const isKnown = [CalleeExitedError, CallTimeoutError, KeyUnavailableError, StoreError].some(
            (one) => error instanceof one,
          );
          if (!isKnown) throw error;
          sim.sometimes("a message failed");
        }
      });
      for (let round = 0; round < 2; round++) {
        const cut = sim.oneOf([undefined, ...stores], "cut off from its leases");
        cut?.cut();
        await sim.sleep(sim.oneOf([100, 3_000], "until the heal"));
        cut?.heal();
        await tryAll();
      }
      await Promise.all(sends);
      sim.calm();
      const all = await seats();
      await tryAll();
      for (const { meters } of all)
        for (const key of KEYS) {
          const numbers = await meters.at(key, { timeoutMs: 60_000, repeat: true }).call.read();
          expect(new Set(numbers).size).toBe(numbers.length);
          for (const n of acknowledged.get(key) ?? []) expect(numbers).toContain(n);
          expect(numbers).not.toContain(-1);
        }
      const held = () => all.flatMap(({ meters }) => meters.view().held).sort();
      await sim.until("each shard to be held once", () => held().join() === "0,1");
      sim.sometimes(
        "a key moved to another node",
        lives.some(({ entry, node }) =>
          lives.some((other) => other.entry.key === entry.key && other.node !== node),
        ),
      );
    },
    {
      quick: 20,
      seed: 1,
      share: 0.05,
      sometimes: ["an old holder was refused", "a message failed", "a key moved to another node"],
      faults: {
        nodeCrash: { of: ["b", "c"], atMost: 2, downMs: [0, 100, 3_000] },
        crash: { of: "*/supervisor/*", atMost: 2, reason: "kill" },
      },
    },
  );
});
