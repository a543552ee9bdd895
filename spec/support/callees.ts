// Processes that are called, and the shortest way to call them.

import type { CallOptions, Context, Pid, ReplyTo } from "signalbox";
import type { ProcessSystem } from "../../lib/process/system.js";

export interface Question {
  readonly n: number;
  readonly to: ReplyTo<number>;
}

/** The code of an error, or whatever else a call was ended with. */
export const outcome: (error: { code?: unknown }) => unknown = (error) => error.code ?? error;

/** Doubles what it is asked for. */
export function doubler(system: ProcessSystem): Pid<Question> {
  return system.spawn<Question>({ handle: (ctx, { n, to }) => ctx.reply(to, 2 * n) });
}

/** Keeps questions and answers none by itself. */
export function silent(system: ProcessSystem): {
  readonly pid: Pid<Question>;
  readonly asked: Question[];
  ctx: Context<Question> | undefined;
} {
  const asked: Question[] = [];
  const self: { pid: Pid<Question>; asked: Question[]; ctx: Context<Question> | undefined } = {
    pid: system.spawn<Question>({
      handle: (ctx, question) => {
        self.ctx = ctx;
        asked.push(question);
      },
    }),
    asked,
    ctx: undefined,
  };
  return self;
}

/** Too busy to look at its mailbox, until it is let go. */
export function busy(system: ProcessSystem): {
  readonly pid: Pid<Question>;
  readonly asked: number[];
  free(): void;
} {
  const asked: number[] = [];
  let free: () => void = () => undefined;
  const pid = system.spawn<Question>({
    init: () =>
      new Promise<void>((resolve) => {
        free = resolve;
      }),
    handle: (_ctx, { n }) => void asked.push(n),
  });
  return { pid, asked, free: () => free() };
}

export function ask(
  system: ProcessSystem,
  to: Pid<Question>,
  n: number,
  options?: CallOptions,
): Promise<unknown> {
  return system.call(to, (replyTo: ReplyTo<number>) => ({ n, to: replyTo }), options).catch(outcome);
}
