// A lease by the wall clock: somebody sets the clock, and a lease that has hardly begun counts as over.

import { strict as assert } from "node:assert";
import { defineServer } from "signalbox";
import type { Planted } from "./planted.js";

const LEASE_MS = 100;

const vault = (wrong: boolean) =>
  defineServer({
    init: (ctx) => ({ ctx, until: 0 }),
    calls: {
      take: (state) => {
        const now = wrong ? state.ctx.wallTime() : state.ctx.now();
        if (now < state.until) return false;
        state.until = now + LEASE_MS;
        return true;
      },
    },
  });

export const clockJump: Planted = {
  bug: "clock jump",
  wrong: "a lease ends by the wall clock, which may be set forward while the lease is held",
  code: "ERR_ASSERTION",
  says: "a lease was given twice",
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "vault", clock: { jumps: { byMs: [-1_000, 1_000] } } });
    const door = await system.start(vault(wrong));
    const first = await door.call.take();
    await sim.sleep(LEASE_MS / 2);
    const second = await door.call.take();
    assert.ok(!(first && second), "a lease was given twice");
  },
};
