// A double settle: what a clerk's acknowledgement has begun to settle, the exit of the same clerk settles once more.

import { type Body, type Callbacks, type Context, type Pid, type ReplyTo, stop } from "signalbox";
import type { Planted } from "./planted.js";

type Question = ReplyTo<void>;

const MOST_CLERKS = 3;

/** Has one order served: by one more clerk when one ends without having served it. */
function conversation(
  wrong: boolean,
  ledger: Pid<Question>,
  clerk: (boss: Pid<"served">, number: number) => Body<never>,
): Callbacks<"served"> {
  let clerks = 0;
  let served = false;
  const hire = (ctx: Context<"served">): void => {
    ctx.spawnLink(clerk(ctx.self, ++clerks), { label: "clerk" });
  };
  return {
    init: hire,
    handle: (ctx) => {
      served = true;
      ctx.ask(
        ledger,
        (replyTo: Question) => replyTo,
        () => stop(),
      );
    },
    signal: (ctx, signal) => {
      // Until the ledger has answered, the clerk may end as well: that is no news of the order.
      const failed = signal.type === "exit" && (wrong || !served);
      if (failed && clerks < MOST_CLERKS) hire(ctx);
    },
  };
}

export const doubleSettle: Planted = {
  bug: "double settle",
  wrong:
    "a conversation re-routes an order when a clerk exits who has served it, as long as that is not booked",
  code: "ERR_SIM_INVARIANT",
  says: "the order is settled once",
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    let settled = 0;
    const ledger = system.spawn<Question>(
      {
        handle: (ctx, question) => {
          settled++;
          ctx.reply(question, undefined);
        },
      },
      { label: "ledger" },
    );
    const desk = system.spawn<Question>(
      { handle: (ctx, question) => ctx.reply(question, undefined) },
      { label: "desk" },
    );
    const clerk =
      (boss: Pid<"served">, number: number): Body<never> =>
      async (ctx) => {
        if (number === 1 && sim.choose(2, "the first clerk leaves") === 1) return;
        ctx.send(boss, "served");
        await ctx.call(desk, (replyTo: Question) => replyTo);
      };
    system.spawn(conversation(wrong, ledger, clerk), { label: "conversation", trapExit: true });
    sim.monitor.always("the order is settled once", () => settled <= 1);
    sim.finally("the order is settled", () => settled > 0);
    await sim.quiet();
  },
};
