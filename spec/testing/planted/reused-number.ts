// A sequence number that is used again: a node that has restarted numbers its orders from one, and a store takes them for repetitions.

import { strict as assert } from "node:assert";
import { defineServer, type Pid, type ReplyTo } from "signalbox";
import type { SimulatedDisk } from "signalbox/testing";
import { readText, replace } from "../support/files.js";
import type { Planted } from "./planted.js";

interface Order {
  readonly id: string;
  readonly replyTo: ReplyTo<void>;
}

/** Sells by orders to the store. Each has an id, so that the store can tell an order that is repeated. */
const till = (wrong: boolean) =>
  defineServer({
    init: async (ctx, disk: SimulatedDisk, store: Pid<Order>) => {
      const life = wrong ? 0 : Number(await readText(disk, "life")) + 1;
      if (!wrong) await replace(disk, "life", String(life));
      return { ctx, store, life, orders: 0 };
    },
    calls: {
      sell: (state) => {
        const id = `${state.life}.${++state.orders}`;
        return state.ctx.call(state.store, (replyTo: ReplyTo<void>) => ({ id, replyTo }));
      },
    },
  });

export const reusedNumber: Planted = {
  bug: "sequence number used again",
  wrong: "a node numbers its orders from one after each restart, and a store drops the numbers that it knows",
  code: "ERR_ASSERTION",
  says: "sold, but not sent",
  faults: { nodeCrash: { of: "till", downMs: [0] } },
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const network = sim.network();
    const depot = network.join(sim.system({ name: "depot" }));
    const sent = new Set<string>();
    const store = depot.spawn<Order>(
      {
        handle: (ctx, { id, replyTo }) => {
          sent.add(id);
          ctx.reply(replyTo, undefined);
        },
      },
      { label: "store" },
    );
    const node = sim.node("till", (one) => {
      const system = network.join(one.system());
      return system.start(till(wrong), one.disk, system.pidAt(depot.address(store)) as Pid<Order>);
    });
    let sold = 0;
    for (let i = 0; i < 2; i++) {
      const desk = await node.ready();
      sim.storm();
      await desk.call.sell().then(
        () => sold++,
        () => undefined,
      );
    }
    assert.ok(sent.size >= sold, `sold, but not sent: ${sold} sales, ${sent.size} orders`);
  },
};
