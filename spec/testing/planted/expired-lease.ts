// An expired lease: a worker holds the lease when it sends a write, but not any more when the write takes effect.

import type { Planted } from "./planted.js";

const LEASE_MS = 100;

export const expiredLease: Planted = {
  bug: "write after the lease",
  wrong: "a worker looks at its lease before a slow write, and the store does not look at it again",
  code: "ERR_SIM_INVARIANT",
  says: "only the holder of the lease writes",
  scenario: (wrong) => async (sim) => {
    const lease = { holder: "", untilMs: 0 };
    const writes: { readonly by: string; readonly holder: string }[] = [];
    const acquire = sim.io("lease.acquire", (worker: string) => {
      if (sim.now < lease.untilMs) return false;
      lease.holder = worker;
      lease.untilMs = sim.now + LEASE_MS;
      return true;
    });
    const write = sim.io(
      "store.write",
      (by: string) => {
        if (wrong || by === lease.holder) writes.push({ by, holder: lease.holder });
      },
      { latencyMs: [0, 40, 200] },
    );
    const system = sim.system({ name: "shop" });
    for (const label of ["worker-1", "worker-2"])
      system.spawn<string>(
        async (ctx) => {
          for (let turn = 0; turn < 3; turn++) {
            if (await acquire(label)) await write(label);
            await ctx.receive({ timeoutMs: LEASE_MS }).catch(() => undefined);
          }
        },
        { label },
      );
    sim.monitor.always("only the holder of the lease writes", () =>
      writes.every(({ by, holder }) => by === holder),
    );
    await sim.sleep(2_000);
  },
};
