// A retry with a new key: the payment service knows repeated requests by their key, but each attempt has a key of its own.

import type { Planted } from "./planted.js";

const ATTEMPTS = 3;

export const retryKey: Planted = {
  bug: "retry with a new key",
  wrong:
    "a client makes the idempotency key within the loop of its attempts, so that the service cannot know a repetition",
  code: "ERR_SIM_INVARIANT",
  says: "an order is charged once",
  scenario: (wrong) => async (sim) => {
    const charges = new Map<string, number>();
    const post = sim.io(
      "POST /charges",
      (_body: { readonly cents: number }, headers: { readonly key: string }) => {
        charges.set(headers.key, 500);
        return { status: 201 };
      },
      { failures: [new TypeError("fetch failed")], refusals: [() => ({ status: 503 })], atMost: 2 },
    );
    const system = sim.system({ name: "shop" });
    system.spawn(
      async (ctx) => {
        const key = `order-1-${ctx.random()}`;
        for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
          const headers = { key: wrong ? `order-1-${ctx.random()}` : key };
          const answer = await post({ cents: 500 }, headers).catch(() => undefined);
          if (answer?.status === 201) return;
        }
      },
      { label: "till" },
    );
    sim.monitor.always("an order is charged once", () => charges.size <= 1);
    await sim.quiet();
  },
};
