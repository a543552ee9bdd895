// A late fill: a cache is invalidated while a reader waits for the old value, and then the reader fills it.

import type { Planted } from "./planted.js";

export const lateFill: Planted = {
  bug: "late fill of a cache",
  wrong:
    "a reader puts its answer into the cache, though the price has changed and the cache was emptied meanwhile",
  code: "ERR_SIM_INVARIANT",
  says: "the cache is empty or right",
  scenario: (wrong) => async (sim) => {
    let price = 1;
    const cache: { price: number | undefined; generation: number } = { price: undefined, generation: 0 };
    const load = sim.io("db.load", () => price);
    const store = sim.io("db.store", (next: number) => {
      price = next;
    });
    const system = sim.system({ name: "shop" });
    system.spawn(
      async () => {
        const { generation } = cache;
        const loaded = await load();
        if (wrong || generation === cache.generation) cache.price = loaded;
      },
      { label: "reader" },
    );
    system.spawn(
      async () => {
        await store(2);
        cache.price = undefined;
        cache.generation++;
      },
      { label: "writer" },
    );
    await sim.quiet();
    sim.finally("the cache is empty or right", () => cache.price === undefined || cache.price === price);
  },
};
