// A lease by two clocks: the holder counts its hundred milliseconds on a clock that runs slower than the one of the vault.

import { strict as assert } from "node:assert";
import { defineServer } from "signalbox";
import type { Planted } from "./planted.js";

const LEASE_MS = 100;
/** The drift that the holder allows for. */
const MARGIN_MS = 20;

/** Gives a lease to one holder at a time. */
const Vault = defineServer({
  init: (ctx) => ({ ctx, until: 0 }),
  calls: {
    take: (state) => {
      const now = state.ctx.now();
      if (now < state.until) return false;
      state.until = now + LEASE_MS;
      return true;
    },
  },
});

const holder = (wrong: boolean) =>
  defineServer({
    init: (ctx) => ({ ctx, holds: false }),
    calls: {
      hold: (state) => {
        state.holds = true;
        state.ctx.runAfter(wrong ? LEASE_MS : LEASE_MS - MARGIN_MS, () => {
          state.holds = false;
        });
      },
      holds: (state) => state.holds,
    },
  });

export const clockDrift: Planted = {
  bug: "clock drift",
  wrong: "a holder gives back its lease by its own clock, when the vault has already given it to another",
  code: "ERR_ASSERTION",
  says: "two hold the lease",
  scenario: (wrong) => async (sim) => {
    const vault = await sim.system({ name: "vault" }).start(Vault);
    const office = sim.system({ name: "office", clock: { driftPpm: [0, 100_000, -100_000] } });
    const clerk = await office.start(holder(wrong));
    await Promise.all([vault.call.take(), clerk.call.hold()]);
    await sim.sleep(LEASE_MS + 5);
    const [first, second] = await Promise.all([clerk.call.holds(), vault.call.take()]);
    assert.ok(!(first && second), "two hold the lease");
  },
};
