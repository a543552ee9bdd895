// An unlink race: the EXIT of a process waits already when it is unlinked, and is taken for its successor's.

import { type Callbacks, type Context, type Pid, type ReplyTo, stop } from "signalbox";
import type { Planted } from "./planted.js";

type Wish =
  | { readonly type: "status"; readonly replyTo: ReplyTo<Pid<"hang up">> }
  /** Replaces the line by a new one. */
  | { readonly type: "replace" };

/** Keeps one line open: opens another when it breaks, or when it is told to. */
function exchange(wrong: boolean): Callbacks<Wish> {
  let line: Pid<"hang up">;
  const open = (ctx: Context<Wish>): void => {
    line = ctx.spawnLink<"hang up">({ handle: () => stop() }, { label: "line" });
  };
  return {
    init: open,
    handle: (ctx, wish) => {
      if (wish.type === "status") {
        ctx.reply(wish.replyTo, line);
        return;
      }
      // It may have ended already; its EXIT is not the new line's.
      ctx.unlink(line, { flush: !wrong });
      ctx.exit(line, "shutdown");
      open(ctx);
    },
    signal: (ctx, signal) => {
      if (signal.type === "exit") open(ctx);
    },
  };
}

export const unlinkRace: Planted = {
  bug: "unlink race",
  wrong:
    "an exchange unlinks a line without `flush`, and takes its EXIT for that of the line which replaced it",
  code: "ERR_SIM_INVARIANT",
  says: "one line is open",
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const lines = system.spawn(exchange(wrong), { label: "exchange", trapExit: true });
    const status = (replyTo: ReplyTo<Pid<"hang up">>): Wish => ({ type: "status", replyTo });
    system.spawn(async (ctx) => ctx.send(await ctx.call(lines, status), "hang up"), { label: "caller" });
    system.spawn(
      async (ctx) => {
        await ctx.call(lines, status);
        await ctx.call(lines, status);
        ctx.send(lines, { type: "replace" });
      },
      { label: "operator" },
    );
    sim.finally("one line is open", () => system.info(lines)?.links.length === 1);
    await sim.quiet();
  },
};
