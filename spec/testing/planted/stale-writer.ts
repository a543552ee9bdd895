// A stale writer: a worker has crashed, but its write is still on its way, and arrives after that of its replacement.

import { type Callbacks, supervisor } from "signalbox";
import type { Planted } from "./planted.js";

export const staleWriter: Planted = {
  bug: "stale writer",
  wrong: "a store takes any write, also one that a crashed worker sent before its replacement began",
  code: "ERR_SIM_INVARIANT",
  says: "the checkpoint never goes back",
  faults: { crash: { of: "**/worker" } },
  scenario: (wrong) => async (sim) => {
    let epochs = 0;
    let checkpoint = 0;
    const begin = sim.io("store.begin", () => ++epochs);
    const save = sim.io("store.save", (epoch: number) => {
      if (wrong || epoch === epochs) checkpoint = epoch;
    });
    const worker: Callbacks<string> = {
      init: (ctx) => ctx.send(ctx.self, "save"),
      handle: async () => save(await begin()),
    };
    let last = 0;
    sim.monitor.always("the checkpoint never goes back", () => {
      const before = last;
      last = checkpoint;
      return checkpoint >= before;
    });
    sim.calm();
    await sim.system({ name: "shop" }).start(supervisor({ children: [{ id: "worker", start: worker }] }));
    sim.storm();
    await sim.quiet();
  },
};
