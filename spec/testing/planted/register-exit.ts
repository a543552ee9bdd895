// A race of registration and exit: the holder of a name ends when it is monitored already, but not yet entered.

import type { Callbacks, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

interface Registration {
  readonly name: string;
  readonly pid: Pid;
}

type Question = ReplyTo<boolean>;

/** Enters names when the warden agrees, and strikes them out when their holders end. */
function registry(wrong: boolean, warden: Pid<Question>, holders: Map<string, Pid>): Callbacks<Registration> {
  return {
    handle: (ctx, { name, pid }) => {
      if (wrong) ctx.monitor(pid);
      ctx.ask(
        warden,
        (replyTo: Question) => replyTo,
        (answer) => {
          if (!answer.ok || !answer.value) return;
          holders.set(name, pid);
          // Of a holder that has ended meanwhile the DOWN comes now: after the name is entered, not before.
          if (!wrong) ctx.monitor(pid);
        },
      );
    },
    signal: (_ctx, signal) => {
      if (signal.type !== "down") return;
      for (const [name, pid] of holders) if (pid === signal.pid) holders.delete(name);
    },
  };
}

export const registerExit: Planted = {
  bug: "register-exit race",
  wrong:
    "a registry monitors a holder before it enters the name: a DOWN between the two finds nothing to strike out",
  code: "ERR_SIM_INVARIANT",
  says: "names stand for the living",
  faults: { crash: { of: "shop/holder" } },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const holders = new Map<string, Pid>();
    const warden = system.spawn<Question>(
      { handle: (ctx, question) => ctx.reply(question, true) },
      { label: "warden" },
    );
    const names = system.spawn(registry(wrong, warden, holders), { label: "registry" });
    system.spawn<never>(
      async (ctx) => {
        ctx.send(names, { name: "till", pid: ctx.self });
        await ctx.receive();
      },
      { label: "holder" },
    );
    sim.finally("names stand for the living", () =>
      [...holders.values()].every((pid) => system.isAlive(pid)),
    );
    await sim.quiet();
  },
};
