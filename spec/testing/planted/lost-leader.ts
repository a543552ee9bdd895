// A leader is lost for ever: a candidate takes the DOWN of a leader that had ended before for an old one.

import type { BodyContext, Callbacks, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

interface Claim {
  readonly by: Pid;
  readonly replyTo: ReplyTo<Pid>;
}

/** The seat of the leader: whoever claims it while it is free gets it, and the others hear who has it. */
function seat(): Callbacks<Claim> {
  let leader: Pid | undefined;
  return {
    handle: (ctx, { by, replyTo }) => {
      if (leader === undefined) {
        leader = by;
        ctx.monitor(by);
      }
      ctx.reply(replyTo, leader);
    },
    signal: () => {
      leader = undefined;
    },
  };
}

async function candidate(
  ctx: BodyContext,
  at: Pid<Claim>,
  wrong: boolean,
  leads: (pid: Pid) => void,
): Promise<void> {
  for (;;) {
    const leader = await ctx.call(at, (replyTo: ReplyTo<Pid>) => ({ by: ctx.self, replyTo }));
    if (leader === ctx.self) break;
    ctx.monitor(leader);
    // The seat may hear of the end of the leader later than we do: then it is to be asked once more.
    await ctx.receiveSignal(
      (signal) => !wrong || (signal.type === "down" && signal.reason.type !== "noproc"),
    );
  }
  leads(ctx.self);
  await ctx.receive();
}

export const lostLeader: Planted = {
  bug: "leader lost for ever",
  wrong: "a candidate that learns of a leader who is dead already goes on waiting for the end of that leader",
  code: "ERR_SIM_LIVENESS",
  says: "a lost leader is replaced",
  faults: { crash: { of: "shop/ann" } },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const throne = system.spawn(seat(), { label: "seat" });
    let leader: Pid | undefined;
    const leads = (pid: Pid): void => {
      // The code of a process goes on to its next await after the process has ended.
      if (system.isAlive(pid)) leader = pid;
    };
    for (const label of ["ann", "bob"])
      system.spawn((ctx: BodyContext) => candidate(ctx, throne, wrong, leads), { label });
    sim.monitor.leadsTo(
      "a lost leader is replaced",
      () => leader !== undefined && !system.isAlive(leader),
      () => leader !== undefined && system.isAlive(leader),
    );
    await sim.quiet();
  },
};
