// An acknowledgement before the sync: a power loss takes an order that its customer has a receipt for.

import { strict as assert } from "node:assert";
import { defineServer } from "signalbox";
import type { SimulatedDisk } from "signalbox/testing";
import { append, readText } from "../support/files.js";
import type { Planted } from "./planted.js";

const orders = (wrong: boolean) =>
  defineServer({
    init: async (_ctx, disk: SimulatedDisk) => ({ disk, count: (await readText(disk, "orders")).length }),
    calls: {
      take: async (state) => {
        await append(state.disk, "orders", "x");
        const synced = state.disk.sync("orders");
        if (!wrong) await synced;
        state.count++;
      },
      count: (state) => state.count,
    },
  });

export const unsyncedAck: Planted = {
  bug: "acknowledged before synced",
  wrong: "an order is acknowledged while its sync is still under way",
  code: "ERR_ASSERTION",
  says: "an acknowledged order",
  faults: { nodeCrash: { of: "shop", downMs: [0] } },
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const shop = sim.node("shop", async (node) => {
      await append(node.disk, "orders", "");
      await node.disk.syncDirectory();
      return node.system().start(orders(wrong), node.disk);
    });
    const desk = await shop.ready();
    sim.storm();
    const acknowledged = await desk.call.take().then(
      () => 1,
      () => 0,
    );
    sim.calm();
    const count = await (await shop.ready()).call.count();
    assert.ok(count >= acknowledged, `an acknowledged order is lost: ${count} of ${acknowledged}`);
  },
};
