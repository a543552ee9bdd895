// An early acknowledgement: a consumer reports its envelope as done before the database has answered.

import { ConsumerGroup, consumer, supervisor } from "signalbox";
import type { Planted } from "./planted.js";

export const earlyAck: Planted = {
  bug: "early acknowledgement",
  wrong: "a consumer does not await its write, so that the order counts as done when the write fails",
  code: "ERR_SIM_INVARIANT",
  says: "an order that is done is written",
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const rows: number[] = [];
    const insert = sim.io("db.insert", (order: number) => void rows.push(order), {
      refusals: [new Error("too many connections")],
    });
    const orders = new ConsumerGroup<number>({ name: "orders", patienceMs: 1_000 });
    const clerk = consumer(
      async (order: number) => {
        if (!wrong) return insert(order);
        insert(order).catch(() => undefined);
      },
      { group: orders },
    );
    const system = sim.system({ name: "shop" });
    await system.start(supervisor({ intensity: 5, children: [{ id: "clerk", start: clerk }] }));
    sim.storm();
    await system.dispatch(orders, 7);
    await sim.quiet();
    sim.finally("an order that is done is written", () => rows.includes(7));
  },
};
