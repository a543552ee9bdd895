// A lost wake-up: between "is it free?" and "wake me when it is", it becomes free, and nobody is told.

import type { BodyContext, Callbacks, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

type Wish =
  | { readonly type: "try"; readonly replyTo: ReplyTo<boolean> }
  | { readonly type: "park"; readonly replyTo: ReplyTo<void> }
  | { readonly type: "release" };

/** A semaphore with one permit. */
function semaphore(wrong: boolean): Callbacks<Wish> {
  const parked: ReplyTo<void>[] = [];
  let free = true;
  return {
    handle: (ctx, wish) => {
      switch (wish.type) {
        case "try":
          ctx.reply(wish.replyTo, free);
          free = false;
          return;
        case "park":
          // Since the caller was told that there is none, the permit may have come back.
          if (free && !wrong) {
            free = false;
            ctx.reply(wish.replyTo, undefined);
          } else parked.push(wish.replyTo);
          return;
        case "release": {
          const next = parked.shift();
          if (next === undefined) free = true;
          else ctx.reply(next, undefined);
        }
      }
    },
  };
}

export const lostWakeup: Planted = {
  bug: "lost wake-up",
  wrong: "a semaphore parks whoever it refused, though the permit has come back since",
  code: "ERR_SIM_NOT_CONVERGED",
  says: "both customers are served",
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const permit = system.spawn(semaphore(wrong), { label: "permit" });
    const till = system.spawn<ReplyTo<void>>(
      { handle: (ctx, replyTo) => ctx.reply(replyTo, undefined) },
      { label: "till" },
    );
    let served = 0;
    const customer = async (ctx: BodyContext): Promise<void> => {
      const granted = await ctx.call(permit, (replyTo: ReplyTo<boolean>) => ({ type: "try", replyTo }));
      if (!granted)
        await ctx.call(permit, (replyTo: ReplyTo<void>) => ({ type: "park", replyTo }), {
          timeoutMs: Number.POSITIVE_INFINITY,
        });
      await ctx.call(till, (replyTo: ReplyTo<void>) => replyTo);
      ctx.send(permit, { type: "release" });
      served++;
    };
    system.spawn(customer, { label: "ann" });
    system.spawn(customer, { label: "bob" });
    await sim.until("both customers are served", () => served === 2);
  },
};
