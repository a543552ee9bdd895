// A livelock by politeness: two at a narrow door see that the other wants to pass, step back, and come again together.

import type { BodyContext, Callbacks, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

type Name = "ann" | "bob";

type Message =
  | { readonly type: "wish"; readonly name: Name; readonly wants: boolean; readonly replyTo: ReplyTo<void> }
  | { readonly type: "look"; readonly at: Name; readonly replyTo: ReplyTo<boolean> };

/** Shows who wants to pass. */
function door(): Callbacks<Message> {
  const wishes = new Set<Name>();
  return {
    handle: (ctx, message) => {
      if (message.type === "look") return ctx.reply(message.replyTo, wishes.has(message.at));
      if (message.wants) wishes.add(message.name);
      else wishes.delete(message.name);
      return ctx.reply(message.replyTo, undefined);
    },
  };
}

/** Says that it wants to pass, and passes if nobody else does. */
async function pass(
  ctx: BodyContext,
  at: Pid<Message>,
  name: Name,
  other: Name,
  yields: boolean,
): Promise<void> {
  const wish = (wants: boolean): Promise<void> =>
    ctx.call(at, (replyTo: ReplyTo<void>) => ({ type: "wish", name, wants, replyTo }));
  const sees = (): Promise<boolean> =>
    ctx.call(at, (replyTo: ReplyTo<boolean>) => ({ type: "look", at: other, replyTo }));
  await wish(true);
  while (await sees()) {
    // Dekker: of two, only one yields; the other one waits where it is.
    if (!yields) continue;
    await wish(false);
    await wish(true);
  }
  await wish(false);
}

export const afterYou: Planted = {
  bug: "after you, no, after you",
  wrong: "two at a door step back when they see each other, and come again at the same time",
  code: "ERR_SIM_LIVELOCK",
  says: "repeat",
  options: { maxSteps: 1_000 },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "house" });
    const narrow = system.spawn(door(), { label: "door" });
    system.spawn((ctx) => pass(ctx, narrow, "ann", "bob", true), { label: "ann" });
    system.spawn(
      async (ctx) => {
        for (let shoe = 0; shoe < 2; shoe++)
          await ctx.call(narrow, (replyTo: ReplyTo<boolean>) => ({ type: "look", at: "bob", replyTo }));
        await pass(ctx, narrow, "bob", "ann", wrong);
      },
      { label: "bob" },
    );
    await sim.quiet();
  },
};
