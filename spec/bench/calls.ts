// Requests with a reply, one after the other: with callbacks, and awaited.

import type { Pid, Reply, ReplyTo, System } from "signalbox";
import { onSystem, type Program } from "./program.js";

interface Echo {
  readonly replyTo: ReplyTo<number>;
  readonly value: number;
}

const echo = (system: System): Pid<Echo> =>
  system.spawn<Echo>({ handle: (ctx, { replyTo, value }) => ctx.reply(replyTo, value) });

/** The next call is made from the reply of the one before. */
export function call(count: number, prepare?: (system: System) => void): Program {
  return onSystem(count, (count * (count + 1)) / 2, (system, done) => {
    prepare?.(system);
    const server = echo(system);
    let value = count;
    let sum = 0;
    system.spawn<never>({
      init: (ctx) => {
        const request = (replyTo: ReplyTo<number>): Echo => ({ replyTo, value });
        const next = (reply: Reply<number>): void => {
          if (!reply.ok || reply.value !== value) throw new Error("an unexpected reply");
          sum += reply.value;
          if (--value > 0) ctx.ask(server, request, next);
          else done(sum);
        };
        ctx.ask(server, request, next);
      },
      handle: () => undefined,
    });
  });
}

/** The same in a function body that awaits each reply. */
export function callAwait(count: number, prepare?: (system: System) => void): Program {
  return onSystem(count, (count * (count + 1)) / 2, (system, done) => {
    prepare?.(system);
    const server = echo(system);
    system.spawn<never>(async (ctx) => {
      let sum = 0;
      for (let value = count; value > 0; value--) {
        const reply = await ctx.call(server, (replyTo: ReplyTo<number>) => ({ replyTo, value }));
        if (reply !== value) throw new Error("an unexpected reply");
        sum += reply;
      }
      done(sum);
    });
  });
}
