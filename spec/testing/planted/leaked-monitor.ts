// A leaked monitor: whoever waited is watched once for the wait and once for what it waited for, and only the second
// watch has an end.

import type { BodyContext, Callbacks, Context, Monitor, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

interface Request {
  readonly who: Pid;
  readonly replyTo: ReplyTo<void>;
}

type Wish = { readonly type: "take"; readonly request: Request } | { readonly type: "give back" };

/** Lends one key, to one after the other, and has it back when its holder ends. */
function keyBoard(wrong: boolean): Callbacks<Wish> {
  let waiting: { readonly request: Request; readonly watch: Monitor }[] = [];
  let holder: Monitor | undefined;
  const lend = (ctx: Context<Wish>, { who, replyTo }: Request): void => {
    holder = ctx.monitor(who);
    ctx.reply(replyTo, undefined);
  };
  const takeBack = (ctx: Context<Wish>): void => {
    holder = undefined;
    const next = waiting.shift();
    if (next === undefined) return;
    if (!wrong) ctx.demonitor(next.watch, { flush: true });
    lend(ctx, next.request);
  };
  return {
    handle: (ctx, wish) => {
      if (wish.type === "give back") {
        if (holder !== undefined) ctx.demonitor(holder, { flush: true });
        takeBack(ctx);
      } else if (holder === undefined) lend(ctx, wish.request);
      else waiting.push({ request: wish.request, watch: ctx.monitor(wish.request.who) });
    },
    signal: (ctx, signal) => {
      if (signal.type !== "down") return;
      if (signal.ref === holder) takeBack(ctx);
      else waiting = waiting.filter(({ watch }) => watch !== signal.ref);
    },
  };
}

export const leakedMonitor: Planted = {
  bug: "leaked monitor",
  wrong: "a key board that monitors those who wait does not demonitor them when it lends them the key",
  code: "ERR_SIM_LEFT_BEHIND",
  says: "shop/board has 2 monitors on shop/bob",
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const board = system.spawn(keyBoard(wrong), { label: "board" });
    const diary = system.spawn<ReplyTo<void>>(
      { handle: (ctx, replyTo) => ctx.reply(replyTo, undefined) },
      { label: "diary" },
    );
    const take = (ctx: BodyContext): Promise<void> =>
      ctx.call(board, (replyTo: ReplyTo<void>) => ({ type: "take", request: { who: ctx.self, replyTo } }));
    let kept = false;
    system.spawn(
      async (ctx) => {
        await take(ctx);
        ctx.send(board, { type: "give back" });
      },
      { label: "ann" },
    );
    system.spawn(
      async (ctx) => {
        await ctx.call(diary, (replyTo: ReplyTo<void>) => replyTo);
        await take(ctx);
        kept = true;
        await ctx.receive();
      },
      { label: "bob" },
    );
    sim.finally("bob has the key", () => kept);
    await sim.quiet();
  },
};
