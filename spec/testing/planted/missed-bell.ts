// A lost wake-up that stops nothing: the others go on, and so nobody notices but for the end that never comes.

import type { BodyContext, Callbacks, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

type Message =
  | { readonly type: "put" }
  /** Answers whether there is a loaf, and takes it. */
  | { readonly type: "take"; readonly replyTo: ReplyTo<boolean> }
  /** Answers with the next loaf. */
  | { readonly type: "wait"; readonly replyTo: ReplyTo<void> }
  | { readonly type: "dust" };

/** A shelf of loaves, dusted every minute. */
function shelf(wrong: boolean): Callbacks<Message> {
  const waiting: ReplyTo<void>[] = [];
  let loaves = 0;
  const dust = { type: "dust" } as const;
  return {
    init: (ctx) => void ctx.sendAfter(ctx.self, dust, 60_000),
    handle: (ctx, message) => {
      if (message.type === "dust") {
        ctx.sendAfter(ctx.self, dust, 60_000);
        return;
      }
      if (message.type === "put") loaves++;
      if (message.type === "take") {
        ctx.reply(message.replyTo, loaves > 0);
        loaves = Math.max(0, loaves - 1);
      }
      if (message.type === "wait") waiting.push(message.replyTo);
      // A loaf may have come since its customer has looked.
      if (wrong && message.type !== "put") return;
      for (; loaves > 0 && waiting.length > 0; loaves--)
        ctx.reply(waiting.shift() as ReplyTo<void>, undefined);
    },
  };
}

async function customer(ctx: BodyContext, from: Pid<Message>): Promise<void> {
  if (await ctx.call(from, (replyTo: ReplyTo<boolean>) => ({ type: "take", replyTo }))) return;
  const forEver = { timeoutMs: Number.POSITIVE_INFINITY };
  await ctx.call(from, (replyTo: ReplyTo<void>) => ({ type: "wait", replyTo }), forEver);
}

export const missedBell: Planted = {
  bug: "a bell that nobody hears",
  wrong:
    "a shelf rings for a new loaf only those who wait already: one who is about to wait does so for ever",
  code: "ERR_SIM_LIVELOCK",
  says: "60000 ms each time",
  options: { maxSteps: 1_000 },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "bakery" });
    const loaves = system.spawn(shelf(wrong), { label: "shelf" });
    system.spawn((ctx: BodyContext) => ctx.send(loaves, { type: "put" }), { label: "baker" });
    const buyer = system.spawn((ctx: BodyContext) => customer(ctx, loaves), { label: "buyer" });
    await system.exited(buyer);
  },
};
