// A recovery that is not idempotent: it brings the log into the snapshot, and a second power loss finds the log still there.

import { strict as assert } from "node:assert";
import { defineServer } from "signalbox";
import type { SimulatedDisk } from "signalbox/testing";
import { append, readText, replace } from "../support/files.js";
import type { Planted } from "./planted.js";

/** The sum of the amounts in the log, and how many there are. */
async function logOf(disk: SimulatedDisk): Promise<readonly string[]> {
  return (await readText(disk, "log")).split(";").slice(0, -1);
}

/** A snapshot of the balance, with the number of log records that are in it. */
async function recover(disk: SimulatedDisk, wrong: boolean): Promise<number> {
  const [before = 0, covered = 0] = (await readText(disk, "snapshot")).split(" ").map(Number);
  const records = await logOf(disk);
  const missing = wrong ? records : records.slice(covered);
  const balance = missing.reduce((sum, amount) => sum + Number(amount), before);
  if (missing.length === 0) return balance;
  await replace(disk, "snapshot", `${balance} ${records.length}`);
  if (wrong) {
    await disk.remove("log");
    await disk.syncDirectory();
  }
  return balance;
}

const account = (wrong: boolean) =>
  defineServer({
    init: async (_ctx, disk: SimulatedDisk) => ({ disk, balance: await recover(disk, wrong) }),
    calls: { balance: (state) => state.balance },
  });

export const recoveryTwice: Planted = {
  bug: "recovery that is not idempotent",
  wrong: "a recovery writes the sum of snapshot and log, and removes the log only then",
  code: "ERR_ASSERTION",
  says: "a deposit counts once",
  faults: { nodeCrash: { of: "bank", downMs: [0] } },
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const bank = sim.node("bank", async (node) => {
      // The first boot ends with a log that is not in the snapshot: the power was lost before.
      if (node.boots === 1) {
        await append(node.disk, "log", "100;");
        await node.disk.syncAll();
        sim.storm();
      }
      return node.system().start(account(wrong), node.disk);
    });
    await bank.ready();
    await sim.quiet();
    sim.calm();
    assert.equal(await (await bank.ready()).call.balance(), 100, "a deposit counts once");
  },
};
