// Singletons over a shared store under the simulator: contenders are killed and cut off from the store, clocks jump, answers are
// lost. One at most holds the lease at any instant of virtual time.

import { defineServer, supervisor } from "signalbox";
import { type Lease, type LeaseSource, singleton, storeLeases } from "signalbox/nodes";
import { defineTable, FencedError, openStore, type Schema, type Store } from "signalbox/store";
import type { Simulation } from "signalbox/testing";
import { expect, test } from "vitest";
import { explored } from "../../support/proof.js";

const ledger = defineTable("ledger", { columns: { id: "integer", by: "integer" }, key: ["id"] });
const SCHEMA: Schema = { name: "billing", version: 1, tables: [ledger] };
const TTL = 2_000;

/** The way to a source, which the scenario cuts: a request waits for the end of the cut, or for its caller. */
class Way implements LeaseSource {
  readonly label = "store";
  readonly ttlMs = TTL;
  #cut: { readonly over: Promise<void>; readonly heal: () => void } | undefined;
  readonly #source: LeaseSource;
  readonly find: LeaseSource["find"];
  readonly watch: NonNullable<LeaseSource["watch"]>;

  constructor(source: LeaseSource) {
    this.#source = source;
    this.find = (...given) => source.find(...given);
    this.watch = (...given) => source.watch?.(...given) ?? (() => undefined);
  }

  acquire: LeaseSource["acquire"] = (...given) => this.#go(() => this.#source.acquire(...given));
  renew: LeaseSource["renew"] = (...given) => this.#go(() => this.#source.renew(...given));
  release: LeaseSource["release"] = (...given) => this.#go(() => this.#source.release(...given));

  cut(): void {
    let heal = (): void => undefined;
    const over = new Promise<void>((done) => (heal = done));
    this.#cut ??= { over, heal };
  }

  heal(): void {
    this.#cut?.heal();
    this.#cut = undefined;
  }

  async #go<T>(ask: () => Promise<T>): Promise<T> {
    // A request that a cut has held is lost.
    if (this.#cut !== undefined) {
      await this.#cut.over;
      throw new Error("the connection was lost");
    }
    return ask();
  }
}

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
        const way = new Way(storeLeases(store, { ttlMs: TTL }));
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
