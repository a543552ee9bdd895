// What the threads of the tests may start.

import { threadId } from "node:worker_threads";
import { defineServer, type Pid, type ReplyTo, type ServerDefinition, type System, stop } from "signalbox";
import {
  joinCluster,
  type NatsOptions,
  nats,
  programs,
  type ThreadProgram,
  threadProgram,
} from "signalbox/nodes";

/** To a hand. */
export type Order =
  | { readonly type: "where"; readonly replyTo: ReplyTo<number> }
  | { readonly type: "forward"; readonly to: Pid<unknown>; readonly message: unknown }
  | { readonly type: "link"; readonly to: Pid }
  | { readonly type: "loop" }
  | { readonly type: "gate" }
  | { readonly type: "exit"; readonly code: number }
  | { readonly type: "uncaught" }
  | { readonly type: "fail" }
  | { readonly type: "end" };

/** To the process that a thread of a cluster registers: the names of the nodes that it sees. */
export interface Question {
  readonly replyTo: ReplyTo<readonly string[]>;
}

interface Numbers {
  n: number;
  notes: number;
}

export const Counter: ServerDefinition<
  [number],
  { next: (state: Numbers) => number; notes: (state: Numbers) => number; fail: (state: Numbers) => number },
  { add: (state: Numbers, n: number) => void; note: (state: Numbers, text: string) => void }
> = defineServer({
  init: (_ctx, from: number): Numbers => ({ n: from, notes: 0 }),
  calls: {
    next: (state: Numbers) => state.n++,
    notes: (state: Numbers) => state.notes,
    fail: (_state: Numbers): number => missing(),
  },
  casts: {
    add: (state: Numbers, n: number) => {
      state.n += n;
    },
    note: (state: Numbers, _text: string) => void state.notes++,
  },
});

function missing(): never {
  throw new RangeError("no more numbers");
}

/** Places of the board: how many ended in order, whether they take their time for that, a gate, and whether a hand waits there. */
export const ENDED = 0;
export const IS_SLOW = 1;
export const GATE = 2;
export const IS_WAITING = 3;

/** The thread is a node of a cluster as well. */
async function join(system: System, options: NatsOptions): Promise<void> {
  const node = await joinCluster(system, nats(options), { settleMs: 0 });
  programs(node, { counter: Counter });
  const seen = (): string[] => node.nodes().map((one) => one.node.name);
  system.spawn<Question>(
    { handle: (ctx, { replyTo }) => ctx.reply(replyTo, seen()) },
    { name: system.node.name },
  );
}

let board: Int32Array | undefined;

const program: ThreadProgram = threadProgram({
  onStart: async (system: System, data: unknown) => {
    if (data === "refuse") throw new Error("the data is refused");
    if (data instanceof Int32Array) board = data;
    else if (data !== undefined) await join(system, data as NatsOptions);
  },
  programs: {
    hand: {
      handle: (ctx, order: Order) => {
        switch (order.type) {
          case "where":
            ctx.reply(order.replyTo, threadId);
            return undefined;
          case "forward":
            ctx.send(order.to, order.message);
            return undefined;
          case "link":
            ctx.link(order.to);
            return undefined;
          case "loop":
            for (;;);
          case "gate":
            if (board === undefined) return undefined;
            Atomics.store(board, IS_WAITING, 1);
            Atomics.wait(board, GATE, 0);
            return undefined;
          case "exit":
            return process.exit(order.code);
          case "uncaught":
            setImmediate(() => {
              throw new Error("nobody catches it");
            });
            return undefined;
          case "fail":
            throw new Error("the hand fails");
          case "end":
            return stop();
          default:
            return order satisfies never;
        }
      },
    },
    counter: Counter,
    // Writes when it ends in order, and may take its time for that.
    tidy: {
      init: (ctx) => void ctx.trapExit(true),
      handle: () => undefined,
      terminate: async () => {
        if (board === undefined) return;
        if (board[IS_SLOW] === 1) for (;;);
        Atomics.add(board, ENDED, 1);
      },
    },
    broken: defineServer({
      init: () => {
        throw new Error("it does not start");
      },
    }),
  },
});
export default program;
