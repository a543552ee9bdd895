// The shop: orders over HTTP, with processes that are killed all the time, and a flaky bank and carrier.

import { join } from "node:path";
import type { Health } from "signalbox/service";
import { close } from "../shop/closing.js";
import { ordersOf, send } from "../shop/load.js";
import { openOutside } from "../shop/outside.js";
import { faultsOf, reportOf } from "../shop/report.js";
import { shop } from "../shop/shop.js";
import { type Part, type PartOptions, rest } from "./part.js";

const ARTICLES = { tea: 1_000_000, pots: 1_000_000, cups: 1_000_000 } as const;
/** Orders of a round of full size, and one in so many with a card that is declined. */
const ROUND = 100;
const BAD_CARDS = 20;
const CUSTOMERS = 4;
const REST_MS = 1_000;
const CLOSING_MS = 20_000;

export async function shopPart({ system, folder, chaos, size }: PartOptions, health: Health): Promise<Part> {
  const outside = await openOutside({ refuse: 0.1, cutOff: 0.05 }, Math.random);
  const journal = join(folder, "journal.jsonl");
  let url = "";
  let rounds = 0;
  let kills = 0;
  const start = shop(system, {
    ...{
      journal,
      partners: outside.url,
      port: 0,
      levels: ARTICLES,
      pickers: 4,
      threads: 1,
      chaosMs: chaos,
      health,
    },
    onKill: () => {
      kills++;
    },
    onOpen: (at) => {
      url = at;
    },
  });
  const accepted = new Set<string>();
  return {
    name: "shop",
    children: [{ id: "shop", start }],
    round: async (ending) => {
      const orders = ordersOf(
        `round-${++rounds}`,
        Math.ceil((ROUND * size) / 100),
        Object.keys(ARTICLES),
        BAD_CARDS,
      );
      const customers = await send({ url: () => url, orders, connections: CUSTOMERS });
      for (const id of customers.accepted) accepted.add(id);
      await rest(REST_MS, ending);
    },
    verdict: async () => {
      await close(system, CLOSING_MS);
      const report = await reportOf(journal);
      return {
        line: `shop         ${report.accepted} orders: ${report.shipped} shipped, ${report.refused} refused, ${kills} kills`,
        faults: faultsOf(report, accepted.size, outside.books),
      };
    },
    close: async () => outside[Symbol.asyncDispose](),
  };
}
