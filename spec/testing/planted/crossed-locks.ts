// A livelock by retry: two hold one lock each, want that of the other, and let go only to take the same one again.

import type { BodyContext, Callbacks, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

type Request = { readonly type: "lock"; readonly replyTo: ReplyTo<boolean> } | { readonly type: "unlock" };

/** An account that one clerk at a time may change. */
function account(): Callbacks<Request> {
  let free = true;
  return {
    handle: (ctx, request) => {
      if (request.type === "lock") ctx.reply(request.replyTo, free);
      free = request.type === "unlock";
    },
  };
}

const lock = (replyTo: ReplyTo<boolean>): Request => ({ type: "lock", replyTo });

async function transfer(ctx: BodyContext, first: Pid<Request>, second: Pid<Request>): Promise<void> {
  for (;;) {
    if (!(await ctx.call(first, lock))) continue;
    if (await ctx.call(second, lock)) break;
    ctx.send(first, { type: "unlock" });
  }
  ctx.send(second, { type: "unlock" });
  ctx.send(first, { type: "unlock" });
}

export const crossedLocks: Planted = {
  bug: "crossed locks, retried",
  wrong:
    "two clerks lock two accounts in opposite orders, and each retries at once when it is refused the second",
  code: "ERR_SIM_LIVELOCK",
  says: "repeat",
  options: { maxSteps: 1_000 },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "bank" });
    const giro = system.spawn(account(), { label: "giro" });
    const savings = system.spawn(account(), { label: "savings" });
    const rates = system.spawn<ReplyTo<number>>(
      { handle: (ctx, replyTo) => ctx.reply(replyTo, 2) },
      { label: "rates" },
    );
    system.spawn((ctx) => transfer(ctx, giro, savings), { label: "ann" });
    system.spawn(
      async (ctx) => {
        for (let year = 0; year < 3; year++) await ctx.call(rates, (replyTo: ReplyTo<number>) => replyTo);
        await (wrong ? transfer(ctx, savings, giro) : transfer(ctx, giro, savings));
      },
      { label: "bob" },
    );
    await sim.quiet();
  },
};
