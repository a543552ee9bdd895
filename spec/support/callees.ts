// Processes that tests call, and the shortest way to call them.

import type { CallOptions, Context, Pid, ReplyTo } from "signalbox";
import type { ProcessSystem } from "../../lib/process/system.js";

export interface Question {
  readonly n: number;
  readonly to: ReplyTo<number>;
}

/** The code of an error, or the error itself if it has no code. */
export const outcome: (error: { code?: unknown }) => unknown = (error) => error.code ?? error;

/** Answers each question with twice its number. */
export function doubler(system: ProcessSystem): Pid<Question> {
  return system.spawn<Question>({ handle: (ctx, { n, to }) => ctx.reply(to, 2 * n) });
}

/** Keeps the questions and answers none of them. */
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

/** Stays in `init`, and so leaves its mailbox alone, until `free` is called. */
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
