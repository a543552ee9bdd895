// A timer that fires after its cancel: it had fired already, and its message waits in the mailbox behind the renewal.

import type { BodyContext, Callbacks, Context, Pid, ReplyTo, TimerRef } from "signalbox";
import type { Planted } from "./planted.js";

const LEASE_MS = 100;

type Message =
  /** Takes the lease or renews it; answered with the time at which it ends, as soon as it is the caller's. */
  | { readonly type: "lease"; readonly tenant: Pid; readonly replyTo: ReplyTo<number> }
  | { readonly type: "expired"; readonly lease: number };

/** Lets one tenant at a time have the key, and the next when its lease is over. */
function keyBoard(wrong: boolean): Callbacks<Message> {
  const waiting: { readonly tenant: Pid; readonly replyTo: ReplyTo<number> }[] = [];
  let tenant: Pid | undefined;
  let timer: TimerRef | undefined;
  let lease = 0;
  const grant = (ctx: Context<Message>, to: Pid, replyTo: ReplyTo<number>): void => {
    if (timer !== undefined) ctx.cancel(timer);
    tenant = to;
    timer = ctx.sendAfter(ctx.self, { type: "expired", lease: ++lease }, LEASE_MS);
    ctx.reply(replyTo, ctx.now() + LEASE_MS);
  };
  return {
    handle: (ctx, message) => {
      if (message.type === "lease") {
        if (tenant === undefined || tenant === message.tenant) grant(ctx, message.tenant, message.replyTo);
        else waiting.push(message);
        return;
      }
      // A cancel does not take back what has been sent: the lease that this one ended may have been renewed.
      if (message.lease !== lease && !wrong) return;
      tenant = undefined;
      const next = waiting.shift();
      if (next !== undefined) grant(ctx, next.tenant, next.replyTo);
    },
  };
}

export const cancelledTimer: Planted = {
  bug: "timer after cancel",
  wrong: "a lease that was renewed ends all the same when the message of its old timer waits already",
  code: "ERR_SIM_INVARIANT",
  says: "one tenant at a time",
  faults: { rush: {} },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const until = new Map<string, number>();
    const board = system.spawn(keyBoard(wrong), { label: "board" });
    const lease = async (ctx: BodyContext, name: string): Promise<void> => {
      const request = (replyTo: ReplyTo<number>): Message => ({ type: "lease", tenant: ctx.self, replyTo });
      until.set(name, await ctx.call(board, request, { timeoutMs: Number.POSITIVE_INFINITY }));
    };
    system.spawn(
      async (ctx) => {
        await lease(ctx, "ann");
        await lease(ctx, "ann");
      },
      { label: "ann" },
    );
    system.spawn((ctx) => lease(ctx, "bob"), { label: "bob" });
    sim.monitor.always(
      "one tenant at a time",
      () => [...until.values()].filter((end) => end > sim.now).length <= 1,
    );
    await sim.sleep(3 * LEASE_MS);
  },
};
