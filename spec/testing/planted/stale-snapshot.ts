// A stale snapshot: what was written to the log while the snapshot was being saved is in neither of the two.

import type { Callbacks, Context, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

interface Deposit {
  readonly amount: number;
  readonly replyTo: ReplyTo<void>;
}

interface Save {
  readonly balance: number;
  readonly replyTo: ReplyTo<void>;
}

const CHECKPOINT_AT = 2;

/** A balance that can be read again from the last snapshot and the log of what came after it. */
function account(wrong: boolean, disk: Pid<Save>, log: number[]): Callbacks<Deposit> {
  let balance = 0;
  let saving = false;
  const checkpoint = (ctx: Context<Deposit>): void => {
    const covered = log.length;
    saving = true;
    ctx.ask(
      disk,
      (replyTo: ReplyTo<void>) => ({ balance, replyTo }),
      () => {
        saving = false;
        log.splice(0, wrong ? log.length : covered);
      },
    );
  };
  return {
    handle: (ctx, { amount, replyTo }) => {
      balance += amount;
      log.push(amount);
      if (!saving && log.length >= CHECKPOINT_AT) checkpoint(ctx);
      ctx.reply(replyTo, undefined);
    },
  };
}

export const staleSnapshot: Planted = {
  bug: "stale snapshot",
  wrong: "a checkpoint cuts off the whole log, with what came while its snapshot was being saved",
  code: "ERR_SIM_INVARIANT",
  says: "no deposit is lost",
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "bank" });
    const log: number[] = [];
    let saved = 0;
    let deposited = 0;
    const disk = system.spawn<Save>(
      {
        handle: (ctx, { balance, replyTo }) => {
          saved = balance;
          ctx.reply(replyTo, undefined);
        },
      },
      { label: "disk" },
    );
    const savings = system.spawn(account(wrong, disk, log), { label: "account" });
    system.spawn(
      async (ctx) => {
        for (const amount of [1, 10, 100]) {
          await ctx.call(savings, (replyTo: ReplyTo<void>) => ({ amount, replyTo }));
          deposited += amount;
        }
      },
      { label: "teller" },
    );
    sim.finally("no deposit is lost", () => saved + log.reduce((sum, one) => sum + one, 0) === deposited);
    await sim.quiet();
  },
};
