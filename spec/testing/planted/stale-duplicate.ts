// A stale duplicate: the network delivers a copy of an old message over a new connection, to a server that has started to count anew.

import type { Callbacks, Pid } from "signalbox";
import type { Planted } from "./planted.js";

interface Setting {
  readonly from: Pid;
  readonly number: number;
  readonly value: string;
}

/** Takes the newest setting of a controller. A controller numbers its settings. */
function valve(wrong: boolean): { readonly callbacks: Callbacks<Setting>; value: string } {
  let last = 0;
  const self = {
    value: "closed",
    callbacks: {
      handle: (ctx, { from, number, value }) => {
        if (number <= last) return;
        if (last === 0) ctx.monitor(from);
        last = number;
        self.value = value;
      },
      signal: () => {
        // The controller is out of reach. When it comes back, it goes on where it was.
        if (wrong) last = 0;
      },
    } satisfies Callbacks<Setting>,
  };
  return self;
}

export const staleDuplicate: Planted = {
  bug: "stale duplicate",
  wrong:
    "a server forgets the last number of a client whose connection ends, and takes an old message for a new one",
  code: "ERR_SIM_INVARIANT",
  says: "the last setting counts",
  scenario: (wrong) => async (sim) => {
    const network = sim.network({ duplicate: { afterMs: [0, 50] } });
    const [plant, office] = ["plant", "office"].map((name) => network.join(sim.system({ name })));
    if (plant === undefined || office === undefined) return;
    const main = valve(wrong);
    const pid = plant.spawn(main.callbacks, { label: "valve" });
    const controller = office.spawn({ handle: () => undefined }, { label: "controller" });
    const known = office.pidAt(plant.address(pid)) as Pid<Setting>;
    const set = (number: number, value: string): void =>
      office.send(known, { from: controller, number, value });
    sim.finally("the last setting counts", () => main.value === "half open");
    set(1, "open");
    set(2, "half open");
    await sim.quiet();
    network.cut(plant, office);
    await sim.sleep(10);
    network.heal(plant, office);
    await sim.sleep(100);
  },
};
