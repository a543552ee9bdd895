// Starvation by priority: whoever does what is urgent first may never do anything else.

import type { Callbacks, Context, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

interface Job {
  readonly urgent: boolean;
  readonly replyTo: ReplyTo<void>;
}

const job =
  (urgent: boolean) =>
  (replyTo: ReplyTo<void>): Job => ({ urgent, replyTo });

const entry = (replyTo: ReplyTo<void>): ReplyTo<void> => replyTo;

/** Does one job after another, and writes each of them down. */
function desk(diary: Pid<ReplyTo<void>>, wrong: boolean): Callbacks<Job> {
  const waiting: Job[] = [];
  let busy = false;
  let last: Job | undefined;
  const next = (ctx: Context<Job>): void => {
    // After an urgent job it is the turn of the one that came first.
    const urgent = wrong || last?.urgent !== true ? waiting.findIndex((one) => one.urgent) : -1;
    last = waiting.splice(Math.max(0, urgent), 1)[0];
    busy = last !== undefined;
    if (last === undefined) return;
    ctx.reply(last.replyTo, undefined);
    ctx.ask(diary, entry, () => next(ctx));
  };
  return {
    handle: (ctx, one) => {
      waiting.push(one);
      if (!busy) next(ctx);
    },
  };
}

export const urgentOnly: Planted = {
  bug: "starved by urgent jobs",
  wrong: "a desk does urgent jobs before all others, and a client sends the next one as soon as one is done",
  code: "ERR_SIM_LIVELOCK",
  says: "repeat",
  options: { maxSteps: 1_000 },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "office" });
    const diary = system.spawn<ReplyTo<void>>(
      { handle: (ctx, replyTo) => ctx.reply(replyTo, undefined) },
      { label: "diary" },
    );
    const jobs = system.spawn(desk(diary, wrong), { label: "desk" });
    let done = false;
    system.spawn(
      async (ctx) => {
        await ctx.call(jobs, job(false));
        done = true;
      },
      { label: "clerk" },
    );
    system.spawn(
      async (ctx) => {
        while (!done) await ctx.call(jobs, job(true));
      },
      { label: "manager" },
    );
    await sim.quiet();
  },
};
