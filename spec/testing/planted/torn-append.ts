// A torn append: a record of the log was cut by a power loss, and what is left of it reads as a smaller amount.

import { strict as assert } from "node:assert";
import { defineServer } from "signalbox";
import type { SimulatedDisk } from "signalbox/testing";
import { append, readText } from "../support/files.js";
import type { Planted } from "./planted.js";

/** Sums up the deposits in its log: one amount each, with a semicolon behind it. */
const account = (wrong: boolean) =>
  defineServer({
    init: async (_ctx, disk: SimulatedDisk) => {
      const records = (await readText(disk, "log")).split(";");
      // What has no semicolon behind it was not written whole.
      const tail = records.pop() ?? "";
      if (wrong && tail !== "") records.push(tail);
      return { disk, balance: records.reduce((sum, amount) => sum + Number.parseInt(amount, 10), 0) };
    },
    calls: {
      deposit: async (state, amount: number) => {
        await append(state.disk, "log", `${amount};`);
        await state.disk.sync("log");
        state.balance += amount;
      },
      balance: (state) => state.balance,
    },
  });

export const tornAppend: Planted = {
  bug: "torn append",
  wrong: "a log takes its last record as it is, though a power loss may have cut it short",
  code: "ERR_ASSERTION",
  says: "a part of a deposit",
  faults: { nodeCrash: { of: "bank", downMs: [0] } },
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const bank = sim.node("bank", async (node) => {
      await append(node.disk, "log", "");
      await node.disk.syncDirectory();
      return node.system().start(account(wrong), node.disk);
    });
    const savings = await bank.ready();
    sim.storm();
    await savings.call.deposit(5_000).catch(() => undefined);
    sim.calm();
    const balance = await (await bank.ready()).call.balance();
    assert.ok([0, 5_000].includes(balance), `a part of a deposit: ${balance}`);
  },
};
