// A checkpoint in the wrong order: it cuts off the log before the snapshot is safe that stands for it.

import { strict as assert } from "node:assert";
import { defineServer } from "signalbox";
import type { SimulatedDisk } from "signalbox/testing";
import { append, readText, replace } from "../support/files.js";
import type { Planted } from "./planted.js";

interface Stock {
  readonly disk: SimulatedDisk;
  items: number;
  /** Number of the present log. A snapshot names the log that comes after it. */
  log: number;
}

async function recover(disk: SimulatedDisk): Promise<Stock> {
  const [items = 0, log = 0] = (await readText(disk, "snapshot")).split(" ").map(Number);
  return { disk, items: items + (await readText(disk, `log-${log}`)).length, log };
}

async function checkpoint(state: Stock, wrong: boolean): Promise<void> {
  const old = `log-${state.log}`;
  const remove = async (): Promise<void> => {
    await state.disk.remove(old);
    await state.disk.syncDirectory();
  };
  state.log++;
  if (wrong) await remove();
  await replace(state.disk, "snapshot", `${state.items} ${state.log}`);
  if (!wrong) await remove();
}

const stock = (wrong: boolean) =>
  defineServer({
    init: (_ctx, disk: SimulatedDisk) => recover(disk),
    calls: {
      add: async (state) => {
        await append(state.disk, `log-${state.log}`, "x");
        await state.disk.syncAll();
        state.items++;
      },
      checkpoint: (state) => checkpoint(state, wrong),
      items: (state) => state.items,
    },
  });

export const lostCheckpoint: Planted = {
  bug: "log cut off before its snapshot",
  wrong: "a checkpoint removes the log before the snapshot is written that stands for it",
  code: "ERR_ASSERTION",
  says: "an item that was added",
  faults: { nodeCrash: { of: "shop", downMs: [0] } },
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const shop = sim.node("shop", (node) => node.system().start(stock(wrong), node.disk));
    const shelf = await shop.ready();
    await shelf.call.add();
    sim.storm();
    await shelf.call.checkpoint().catch(() => undefined);
    sim.calm();
    assert.equal(await (await shop.ready()).call.items(), 1, "an item that was added");
  },
};
