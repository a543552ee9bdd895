// What the threads of threads.ts run: processes that count, echo and compute.

import type { ReplyTo } from "signalbox";
import { type ThreadProgram, threadProgram } from "signalbox/nodes";
import {
  type AnyStream,
  type BoltDefinition,
  bolt,
  boltProgram,
  type Field,
  field,
} from "signalbox/topology";
import { compute } from "./thread-compute.js";

/** To a counter: one more; or how many there were since the last answer. */
export type Counted =
  | { readonly order: number; readonly item: string }
  | { readonly replyTo: ReplyTo<number> };

/** To a computer: a piece of work. */
export interface Piece {
  readonly rounds: number;
  readonly replyTo: ReplyTo<number>;
}

type Numbers = { readonly n: Field<number> };

/** Does the work that its tuples ask for. */
export const grind: BoltDefinition<AnyStream<Numbers>, { readonly done: Numbers }> = bolt({
  input: { n: field.number },
  streams: { done: { n: field.number } },
  execute: ({ values }, { emit }) => emit.done({ n: compute(values.n) }),
});

/** Of the one counter in this thread. */
let counted = 0;

const program: ThreadProgram = threadProgram({
  programs: {
    counter: {
      handle: (ctx, message: Counted) => {
        if (!("replyTo" in message)) {
          counted++;
          return;
        }
        ctx.reply(message.replyTo, counted);
        counted = 0;
      },
    },
    echo: {
      handle: (ctx, { rounds, replyTo }: Piece) => ctx.reply(replyTo, rounds),
    },
    bolt: {
      handle: (ctx, { rounds, replyTo }: Piece) => ctx.reply(replyTo, compute(rounds)),
    },
    grind: boltProgram(grind),
  },
});
export default program;
