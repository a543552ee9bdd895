// A lost update: two workers read a counter in a key-value store, and each writes what it has read plus one.

import type { Planted } from "./planted.js";

export const lostUpdate: Planted = {
  bug: "lost update",
  wrong: "a counter in a key-value store is read, increased and written, without a compare-and-set",
  code: "ERR_SIM_INVARIANT",
  says: "both visits count",
  scenario: (wrong) => async (sim) => {
    let visits = 0;
    const latency = { latencyMs: [0, 20] };
    const get = sim.io("kv.get", () => visits, latency);
    const set = sim.io(
      "kv.set",
      (next: number) => {
        visits = next;
      },
      latency,
    );
    const compareAndSet = sim.io(
      "kv.cas",
      (before: number, next: number) => {
        if (visits !== before) return false;
        visits = next;
        return true;
      },
      latency,
    );
    const visit = async (): Promise<void> => {
      for (;;) {
        const before = await get();
        if (wrong) return set(before + 1);
        if (await compareAndSet(before, before + 1)) return;
      }
    };
    const system = sim.system({ name: "shop" });
    for (const [label, delayMs] of [
      ["door-1", 0],
      ["door-2", 10],
    ] as const)
      system.sendAfter(system.spawn<string>({ handle: visit }, { label }), "visit", delayMs);
    sim.finally("both visits count", () => visits === 2);
    await sim.sleep(1_000);
  },
};
