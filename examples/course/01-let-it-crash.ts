// Page 01 of the course, let it crash: an item that is not on the list is refused, and a broken price list is a crash.

import { defineServer, refuse, System, supervisor } from "signalbox";

export class UnknownItemError extends Error {}

const Prices = defineServer({
  init: (_ctx, list: Readonly<Record<string, number>>) => ({ list, asked: 0 }),
  calls: {
    price: (state, item: string) => {
      state.asked += 1;
      const price = state.list[item];
      // Customers ask for all kinds of things: this is part of the work.
      if (price === undefined) return refuse(new UnknownItemError(`we have no ${item}`));
      // The shop made the list itself: the state cannot be trusted any more.
      if (Number.isNaN(price)) throw new TypeError(`the price of ${item} is not a number`);
      return price;
    },
    asked: (state) => state.asked,
  },
});

export interface Answer {
  readonly item: string;
  /** The price, or the error that the caller gets. */
  readonly answer: number | Error;
  /** How many requests the server has counted since its last start. */
  readonly asked: number;
}

/** Asks for the items, one after the other. */
export async function askPrices(
  system: System,
  list: Readonly<Record<string, number>>,
  items: readonly string[],
): Promise<Answer[]> {
  const children = [{ id: "prices", start: Prices, args: [list], name: "prices" }] as const;
  await system.start(supervisor({ intensity: 10, children }));
  const prices = Prices.at(system, "prices");
  const answers: Answer[] = [];
  for (const item of items) {
    const answer = await prices.call.price(item).catch((error: Error) => error);
    await system.idle(); // after a crash: until the next server runs
    answers.push({ item, answer, asked: await prices.call.asked() });
  }
  return answers;
}

if (import.meta.filename === process.argv[1]) {
  await using system = new System({ name: "tea" });
  const list = { tea: 4, cup: 9, whisk: Number.NaN };
  for (const { item, answer, asked } of await askPrices(system, list, ["tea", "coffee", "whisk", "tea"]))
    console.log(`${item}: ${answer instanceof Error ? answer.message : answer}, asked ${asked}`);
}
