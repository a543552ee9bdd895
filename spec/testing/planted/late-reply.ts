// A late reply accepted: the answer to a question that was given up is taken for the answer to the next.

import { type BodyContext, type Callbacks, type Pid, ReceiveTimeoutError } from "signalbox";
import type { Planted } from "./planted.js";

interface Question {
  readonly item: string;
  readonly from: Pid<Quote>;
}

interface Quote {
  readonly item: string;
  readonly price: number;
}

const PATIENCE_MS = 50;
const HELD_UP_MS = 60;

function priceList(prices: ReadonlyMap<string, number>): Callbacks<Question> {
  return {
    handle: (ctx, { item, from }) => ctx.send(from, { item, price: prices.get(item) ?? 0 }),
  };
}

/** The price of an item; undefined when the list is too slow. */
async function priceOf(
  wrong: boolean,
  ctx: BodyContext<Quote>,
  list: Pid<Question>,
  item: string,
): Promise<number | undefined> {
  ctx.send(list, { item, from: ctx.self });
  try {
    const quote = await ctx.receive((one) => wrong || one.item === item, { timeoutMs: PATIENCE_MS });
    return quote.price;
  } catch (error) {
    if (error instanceof ReceiveTimeoutError) return undefined;
    throw error;
  }
}

export const lateReply: Planted = {
  bug: "late reply accepted",
  wrong: "a client takes the next reply for its answer, though it may answer a question that has timed out",
  code: "ERR_SIM_INVARIANT",
  says: "what is noted is right or missing",
  faults: { pause: { of: "shop/list", forMs: [HELD_UP_MS] } },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const prices = new Map([
      ["tea", 3],
      ["salt", 1],
    ]);
    const noted = new Map<string, number | undefined>();
    const list = system.spawn(priceList(prices), { label: "list" });
    system.spawn<Quote>(
      async (ctx) => {
        for (const item of prices.keys()) noted.set(item, await priceOf(wrong, ctx, list, item));
      },
      { label: "buyer" },
    );
    sim.monitor.always("what is noted is right or missing", () =>
      [...noted].every(([item, price]) => price === undefined || price === prices.get(item)),
    );
    await sim.until("all is asked for", () => noted.size === prices.size);
  },
};
