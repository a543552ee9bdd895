// The checkout: a durable flow for each order, which waits for an approval, in a host that is killed all the time.

import { join } from "node:path";
import { supervisor } from "signalbox";
import { flowHost } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { flowsOf } from "../checkout/checkout.js";
import { openOutside } from "../checkout/outside.js";
import { partnersAt } from "../checkout/partners.js";
import { again, KILLED_ON_PURPOSE, type Part, type PartOptions, rest } from "./part.js";

/** The name of the host. */
export const CHECKOUT = "checkout flows";
/** Orders of a round of full size; one in so many is rejected. */
const ROUND = 10;
const REJECTED = 5;
const REST_MS = 500;

export async function checkoutPart({ system, folder, size }: PartOptions): Promise<Part> {
  const outside = await openOutside();
  const { checkout, all } = flowsOf(partnersAt(outside.url));
  const definition = flowHost({ name: CHECKOUT, store: sqlite(join(folder, "flows.db")), flows: all });
  const flows = definition.at(system, CHECKOUT);
  const ends = { shipped: 0, refunded: 0, refused: 0 };
  let orders = 0;

  const order = async (ending: AbortSignal): Promise<void> => {
    const number = ++orders;
    const id = `order-${number}`;
    const run = await again(() => flows.start(checkout, { id, total: 100 * number }, { id }));
    await rest(REST_MS, ending);
    const approval = { by: "Ada", ok: number % REJECTED !== 0 };
    await again(() => run.send("approval", approval, { messageId: `approval of ${id}` }));
    const { end } = await again(() => run.result());
    ends[end]++;
  };

  return {
    name: "checkout",
    children: [
      {
        id: "checkout",
        start: supervisor({
          ...{ ...KILLED_ON_PURPOSE, label: "checkout" },
          children: [{ id: "flows", name: CHECKOUT, start: definition }],
        }),
      },
    ],
    round: async (ending) => {
      await Promise.all(Array.from({ length: Math.ceil((ROUND * size) / 100) }, () => order(ending)));
    },
    verdict: async () => {
      const faults: string[] = [];
      const check = (what: string, is: number, should: number): void => {
        if (is !== should) faults.push(`checkout, ${what}: ${is} instead of ${should}`);
      };
      check("charges", outside.done("/charges"), orders);
      check("parcels", outside.done("/parcels"), ends.shipped);
      check("refunds", outside.done("/refunds"), ends.refunded);
      check("orders that ended", ends.shipped + ends.refunded, orders);
      return {
        line: `checkout     ${orders} orders: ${ends.shipped} shipped, ${ends.refunded} refunded`,
        faults,
      };
    },
    close: async () => outside[Symbol.asyncDispose](),
  };
}
