// A retry that never gives up: it takes a callee that has ended for one that is slow.

import { type BodyContext, CalleeExitedError, type Pid, type ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

const PAUSE_MS = 100;

/** Pays, and tries again after a while if the till does not answer. */
async function customer(ctx: BodyContext, till: Pid<ReplyTo<void>>, wrong: boolean): Promise<void> {
  for (;;) {
    try {
      await ctx.call(till, (replyTo: ReplyTo<void>) => replyTo, { timeoutMs: PAUSE_MS });
      return;
    } catch (error) {
      // Nobody will answer any more.
      if (!wrong && error instanceof CalleeExitedError) return;
      await ctx.receive({ timeoutMs: PAUSE_MS }).catch(() => undefined);
    }
  }
}

export const endlessRetry: Planted = {
  bug: "retry without an end",
  wrong: "a customer whose till has crashed tries again every 100 ms, for ever",
  code: "ERR_SIM_LIVELOCK",
  says: "100 ms each time",
  faults: { crash: { of: "shop/till" } },
  options: { maxSteps: 1_000 },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const till = system.spawn<ReplyTo<void>>(
      { handle: (ctx, replyTo) => ctx.reply(replyTo, undefined) },
      { label: "till" },
    );
    const ann = system.spawn((ctx: BodyContext) => customer(ctx, till, wrong), { label: "ann" });
    await system.exited(ann);
  },
};
