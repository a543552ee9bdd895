// The suite for every store, on SQLite: with each driver that this Node has, in a thread and without.

import { sqlite } from "signalbox/store";
import { sized } from "../../support/proof.js";
import { conformance } from "../conformance.js";
import { DRIVERS, newFolder } from "./support.js";

for (const driver of DRIVERS)
  for (const thread of [true, false])
    conformance(`sqlite on ${driver}${thread ? " in a thread" : ""}`, {
      runs: sized(10, 0.02, 25),
      async make() {
        const folder = newFolder();
        return {
          // No test looks at the disk after a loss of power.
          source: sqlite(folder.file("store.db"), { driver, thread, durability: "process-kill" }),
          dispose: async () => folder[Symbol.dispose](),
        };
      },
    });
