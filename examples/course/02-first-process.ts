// Page 02 of the course, the first process: a till that a hundred customers use at once.

import { defineServer, refuse, System } from "signalbox";

export interface Takings {
  readonly total: number;
  /** Messages of the errors that customers got. */
  readonly refused: readonly string[];
}

/**
 * All customers pay at once, and each leaves a tip of one cent.
 *
 * @param terminal - charges a card; it takes its time
 */
export async function payAtOnce(
  system: System,
  amounts: readonly number[],
  terminal: () => Promise<void>,
): Promise<Takings> {
  const Till = defineServer({
    init: () => ({ total: 0 }),
    calls: {
      pay: async (state, cents: number) => {
        if (!Number.isInteger(cents) || cents <= 0) return refuse(new RangeError(`${cents} is no amount`));
        const before = state.total;
        await terminal();
        state.total = before + cents;
        return state.total;
      },
      total: (state) => state.total,
    },
    casts: {
      tip: (state, cents: number) => {
        state.total += cents;
      },
    },
  });
  const till = await system.start(Till);
  const payments = amounts.map((cents) => {
    const paid = till.call.pay(cents);
    till.cast.tip(1);
    return paid;
  });
  const refused = (await Promise.allSettled(payments)).flatMap((payment) =>
    payment.status === "rejected" ? [(payment.reason as Error).message] : [],
  );
  return { total: await till.call.total(), refused };
}

if (import.meta.filename === process.argv[1]) {
  await using system = new System({ name: "tea" });
  const hundred = Array.from({ length: 100 }, () => 450);
  const slow = () => new Promise<void>((resolve) => setTimeout(resolve, 2));
  console.log(await payAtOnce(system, hundred, slow)); // 45,000 cents, and a hundred tips
}
