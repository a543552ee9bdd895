// A lost update over the commonest fake there is: an object with async methods over a Map, which nothing wraps.

import { defineServer } from "signalbox";
import type { Planted } from "./planted.js";

class Accounts {
  readonly #rows = new Map<string, number>();

  async get(key: string): Promise<number> {
    return this.#rows.get(key) ?? 0;
  }

  async set(key: string, value: number): Promise<void> {
    this.#rows.set(key, value);
  }

  async add(key: string, value: number): Promise<void> {
    this.#rows.set(key, (this.#rows.get(key) ?? 0) + value);
  }
}

export const plainFake: Planted = {
  bug: "lost update over a plain fake",
  wrong:
    "two tills read a balance, add to it and write it, with an asynchronous fake that the test does not wrap",
  code: "ERR_SIM_INVARIANT",
  says: "both payments count",
  plain: true,
  scenario: (wrong) => {
    const Till = defineServer({
      init: (_ctx, accounts: Accounts) => accounts,
      calls: {
        pay: async (accounts, cents: number) => {
          if (!wrong) return accounts.add("ann", cents);
          const before = await accounts.get("ann");
          await accounts.set("ann", before + cents);
        },
      },
    });
    return async (sim) => {
      const system = sim.system({ name: "shop" });
      const accounts = new Accounts();
      const [one, two] = [await system.start(Till, accounts), await system.start(Till, accounts)];
      await Promise.all([one.call.pay(3), two.call.pay(4)]);
      const balance = await accounts.get("ann");
      sim.finally("both payments count", () => balance === 7);
    };
  },
};
