// Singletons over a shared store under the simulator: contenders are killed and cut off from the store, clocks jump, answers are
// lost. One at most holds the lease at any instant of virtual time.

import { type BodyContext, defineServer, supervisor } from "signalbox";
import { type Lease, singleton, storeLeases } from "signalbox/nodes";
import { defineTable, FencedError, openStore, type Schema, type Store } from "signalbox/store";
import { type Simulation, simulate } from "signalbox/testing";
import { expect, test } from "vitest";
import { explored } from "../../support/proof.js";
import { Way } from "./way.js";

const ledger = defineTable("ledger", { columns: { id: "integer", by: "integer" }, key: ["id"] });
const SCHEMA: Schema = { name: "billing", version: 1, tables: [ledger] };

interface Tenure {
  readonly name: string;
  readonly lease: Lease;
  readonly store: Store;
}

test("a singleton over a shared store has one holder at a time, while contenders are killed and cut off and clocks jump, and in the end somebody holds it [N1177]", async () => {
  await explored(
    async (sim: Simulation) => {
      const source = sim.store({ shared: true, failures: { answer: true, atMost: 2 } });
      const tenures: Tenure[] = [];
      const running = new Set<Tenure>();
      sim.calm();
      const Billing = defineServer({
        init: (ctx, lease: Lease, name: string, store: Store) => {
          const tenure = { name, lease, store };
          tenures.push(tenure);
          running.add(tenure);
          ctx.signal.addEventListener("abort", () => running.delete(tenure));
          return tenure;
        },
        calls: {},
      });
      const start = async (name: string): Promise<Way> => {
        const system = sim.system({ name, clock: { jumps: { atMost: 1 } } });
        const store = await openStore(system, source, [SCHEMA]);
        const way = new Way().to(storeLeases(store));
        const billing = singleton(system, {
          name: "billing",
          lease: way,
          start: Billing,
          args: [name, store],
        });
        await system.start(supervisor({ children: [{ id: "billing", start: billing }], intensity: 10 }));
        return way;
      };
      const ways = [await start("a"), await start("b"), await start("c")];
      sim.monitor.always("one holder at a time", () => {
        expect(tenures.filter(({ lease }) => lease.isHeld).length).toBeLessThanOrEqual(1);
        expect(running.size).toBeLessThanOrEqual(1);
      });
      const holders = () => tenures.filter(({ lease }) => lease.isHeld);
      await sim.until("a first holder", () => holders().length === 1);
      sim.storm();
      let writes = 0;
      /** Every holder, past and present, writes. */
      const write = async (): Promise<void> => {
        const newest = tenures.at(-1)?.lease.token;
        for (const { lease, store } of tenures) {
          const row = { id: writes++, by: lease.token };
          const error = await store
            .commit({ claim: lease, writes: [{ type: "insert", table: ledger, row }] })
            .then(
              () => undefined,
              (thrown: unknown) => thrown,
            );
          if (lease.token !== newest) expect(error).toBeInstanceOf(FencedError);
        }
      };
      for (let round = 0; round < 3; round++) {
        const way = sim.oneOf([undefined, ...ways], "cut off");
        way?.cut();
        await sim.sleep(sim.oneOf([100, 1_000, 3_000], "until the heal"));
        await write();
        way?.heal();
        await sim.sleep(sim.oneOf([0, 500], "until the next cut"));
      }
      await sim.eventually("somebody holds it", () => holders().length === 1 && running.size === 1);
      await write();
      const tokens = tenures.map(({ lease }) => lease.token);
      expect(tokens).toEqual([...new Set(tokens)].sort((x, y) => x - y));
      sim.sometimes("it was handed on", tenures.length > 1);
      sim.sometimes("another system holds it", holders()[0]?.name !== tenures[0]?.name);
    },
    {
      quick: 20,
      seed: 1,
      share: 0.05,
      sometimes: ["it was handed on", "another system holds it"],
      faults: { crash: { of: "*/supervisor/billing", atMost: 2, reason: "kill" } },
    },
  );
});

/** The times at which a holder was seen to run with its lease, by token. */
type Intervals = Map<number, { readonly from: number; to: number }>;

/** A singleton that looks at its lease now and then, and notes when it is held. */
function watched(sim: Simulation, intervals: Intervals) {
  return async (ctx: BodyContext<unknown>, lease: Lease): Promise<void> => {
    for (;;) {
      const seen = intervals.get(lease.token);
      if (lease.isHeld && seen === undefined) intervals.set(lease.token, { from: sim.now, to: sim.now });
      else if (lease.isHeld && seen !== undefined) seen.to = sim.now;
      await ctx.receive({ timeoutMs: 100 }).catch(() => undefined);
    }
  };
}

test("the times of the holders of a name do not overlap, while machines are paused, cut off and lose power, and wall clocks jump [N1395]", async () => {
  await explored(
    async (sim) => {
      const source = sim.store({ shared: true });
      const intervals: Intervals = new Map();
      const leases: Lease[] = [];
      const ways = ["a", "b", "c"].map((name) => {
        const way = new Way();
        sim.node(
          name,
          async (machine) => {
            const system = machine.system();
            const run = watched(sim, intervals);
            const start = (ctx: BodyContext<unknown>, lease: Lease): Promise<void> => {
              leases.push(lease);
              return run(ctx, lease);
            };
            const lease = way.to(storeLeases(await openStore(system, source, [])));
            const holder = singleton(system, { name: "billing", lease, start });
            await system.start(supervisor({ children: [{ id: "billing", start: holder }], intensity: 100 }));
          },
          { clock: { jumps: { atMost: 1 }, driftPpm: [0, 200, -200] } },
        );
        return way;
      });
      sim.monitor.always("one holder at a time", () => leases.filter(({ isHeld }) => isHeld).length <= 1);
      const way = sim.oneOf([undefined, ...ways], "cut off from the store");
      await sim.sleep(2_000);
      way?.cut();
      await sim.sleep(3_000);
      way?.heal();
      await sim.sleep(5_000);
      sim.calm();
      const known = intervals.size;
      await sim.until("somebody to hold it", () => leases.some(({ isHeld }) => isHeld));
      const all = [...intervals].sort(([one], [other]) => one - other).map(([, interval]) => interval);
      for (const [index, { from }] of all.entries())
        expect(from).toBeGreaterThanOrEqual(all[index - 1]?.to ?? 0);
      sim.sometimes("it was handed on", known > 1);
    },
    {
      quick: 8,
      seed: 1,
      share: 0.1,
      sometimes: ["it was handed on"],
      faults: {
        nodePause: { of: "*", atMost: 3, forMs: [100, 2_500] },
        nodeCrash: { of: "*", atMost: 1, downMs: [0, 3_000] },
      },
    },
  );
});

test("a holder on a machine that was suspended with its clock believes in its lease, and its writes are refused [N1396]", async () => {
  await simulate(async (sim) => {
    const source = sim.store({ shared: true });
    const tenures: Tenure[] = [];
    const machines = ["a", "b"].map((name) =>
      sim.node(name, async (machine) => {
        const system = machine.system();
        const store = await openStore(system, source, [SCHEMA]);
        const start = async (ctx: BodyContext<unknown>, lease: Lease): Promise<void> => {
          tenures.push({ name, lease, store });
          await ctx.receive();
        };
        await system.start(singleton(system, { name: "billing", lease: store, start }));
      }),
    );
    const [a] = machines;
    await Promise.all(machines.map((machine) => machine.ready()));
    await sim.until("a first holder", () => tenures.length === 1);
    const old = tenures[0] as Tenure;
    expect(old.name).toBe("a");
    a?.pause({ clock: "stands" });
    await sim.sleep(5_000);
    const fresh = tenures[1] as Tenure;
    expect(fresh.name).toBe("b");
    a?.resume();
    expect([old.lease.isHeld, fresh.lease.isHeld]).toEqual([true, true]);
    const commit = ({ lease, store }: Tenure) =>
      store.commit({
        claim: lease,
        writes: [{ type: "insert", table: ledger, row: { id: lease.token, by: 0 } }],
      });
    await expect(commit(old)).rejects.toBeInstanceOf(FencedError);
    await commit(fresh);
  });
});
