// Two writes for one change: a clerk crashes between the debit and the credit of a transfer.

import { type Callbacks, supervisor } from "signalbox";
import type { Planted } from "./planted.js";

export const twoWrites: Planted = {
  bug: "two writes for one change",
  wrong: "a transfer is a debit and a credit, each a request of its own, and a crash comes between them",
  code: "ERR_SIM_INVARIANT",
  says: "no money is lost",
  faults: { crash: { of: "**/clerk" } },
  scenario: (wrong) => async (sim) => {
    const balances = { ann: 100, bob: 0 };
    const add = sim.io("bank.add", (who: "ann" | "bob", cents: number) => {
      balances[who] += cents;
    });
    const transfer = sim.io("bank.transfer", (cents: number) => {
      balances.ann -= cents;
      balances.bob += cents;
    });
    const clerk: Callbacks<string> = {
      handle: async () => {
        if (!wrong) return transfer(10);
        await add("ann", -10);
        await add("bob", 10);
      },
    };
    const system = sim.system({ name: "shop" });
    sim.calm();
    await system.start(supervisor({ children: [{ id: "clerk", name: "clerk", start: clerk }] }));
    sim.storm();
    system.send("clerk", "pay");
    await sim.quiet();
    sim.finally("no money is lost", () => balances.ann + balances.bob === 100);
  },
};
