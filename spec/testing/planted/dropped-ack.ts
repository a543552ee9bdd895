// An acknowledgement dropped on restart: the work was done, the worker died before it said so, and its successor, which
// sees that the work is done, does not say so either.

import type { Body, Callbacks, Pid, ReplyTo } from "signalbox";
import type { Planted } from "./planted.js";

interface Order {
  readonly id: number;
  readonly from: Pid<Message>;
}

type Message =
  | { readonly type: "ship"; readonly id: number }
  | { readonly type: "done"; readonly id: number };

/** Answers whether the order was entered now, and not before. */
interface Entry {
  readonly id: number;
  readonly replyTo: ReplyTo<boolean>;
}

function packer(wrong: boolean, book: Pid<Entry>): Body<Order> {
  return async (ctx) => {
    for (;;) {
      const { id, from } = await ctx.receive();
      const fresh = await ctx.call(book, (replyTo: ReplyTo<boolean>) => ({ id, replyTo }));
      if (fresh || !wrong) ctx.send(from, { type: "done", id });
    }
  };
}

/** Gives orders to a packer, and gives those that are not acknowledged to its successor. */
function office(wrong: boolean, book: Pid<Entry>, open: Set<number>): Callbacks<Message> {
  let worker: Pid<Order>;
  return {
    init: (ctx) => {
      worker = ctx.spawnLink(packer(wrong, book), { label: "packer" });
    },
    handle: (ctx, message) => {
      if (message.type === "done") open.delete(message.id);
      else {
        open.add(message.id);
        ctx.send(worker, { id: message.id, from: ctx.self });
      }
    },
    signal: (ctx, signal) => {
      if (signal.type !== "exit") return;
      worker = ctx.spawnLink(packer(wrong, book), { label: "packer" });
      for (const id of open) ctx.send(worker, { id, from: ctx.self });
    },
  };
}

export const droppedAck: Planted = {
  bug: "ack dropped on restart",
  wrong:
    "a restarted worker acknowledges only what it did itself, not what its predecessor had done when it died",
  code: "ERR_SIM_NOT_CONVERGED",
  says: "the order is acknowledged",
  faults: { crash: { of: "shop/office/packer*" } },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const entered = new Set<number>();
    const open = new Set<number>();
    const book = system.spawn<Entry>(
      {
        handle: (ctx, { id, replyTo }) => {
          ctx.reply(replyTo, !entered.has(id));
          entered.add(id);
        },
      },
      { label: "book" },
    );
    const shipping = system.spawn(office(wrong, book, open), { label: "office", trapExit: true });
    system.send(shipping, { type: "ship", id: 1 });
    await sim.until("the order is acknowledged", () => entered.size === 1 && open.size === 0);
  },
};
