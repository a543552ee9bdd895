// A missing sync before a rename: after a power loss the new name may lead to a file whose content was never written.

import { strict as assert } from "node:assert";
import { defineServer } from "signalbox";
import type { SimulatedDisk } from "signalbox/testing";
import { append, readText } from "../support/files.js";
import type { Planted } from "./planted.js";

/** Keeps one text in a file, which it replaces as a whole. */
const settings = (wrong: boolean) =>
  defineServer({
    init: async (_ctx, disk: SimulatedDisk) => ({ disk, text: await readText(disk, "settings") }),
    calls: {
      save: async (state, text: string) => {
        await append(state.disk, "next", text);
        if (!wrong) await state.disk.sync("next");
        await state.disk.rename("next", "settings");
        await state.disk.syncDirectory();
        state.text = text;
      },
      text: (state) => state.text,
    },
  });

export const unsyncedRename: Planted = {
  bug: "missing sync before rename",
  wrong: "a file is renamed into place before its content is synced",
  code: "ERR_ASSERTION",
  says: "settings",
  faults: { nodeCrash: { of: "desk", downMs: [0] } },
  scenario: (wrong) => async (sim) => {
    sim.calm();
    const desk = sim.node("desk", (node) => node.system().start(settings(wrong), node.disk));
    const first = await desk.ready();
    await first.call.save("dark");
    sim.storm();
    await sim.quiet();
    sim.calm();
    const second = await desk.ready();
    assert.equal(await second.call.text(), "dark", "settings that were saved");
  },
};
