// The answer to the exercise of docs/course/15-service.md: the stock and its pickers as a service that drains.

import { ConsumerGroup, consumer, defineServer, type System, supervisor } from "signalbox";
import { run, type Service } from "signalbox/service";

export interface Order {
  readonly item: string;
  readonly n: number;
}

export interface ShopOptions {
  readonly system: System;
  /** Whether the supplier answers: the shop takes no customers while it does not. */
  readonly supplierAnswers: () => boolean | Promise<boolean>;
  /** The way to the shelf, which each pick awaits. */
  readonly walk: () => Promise<void>;
}

export interface Shop {
  readonly service: Service<unknown>;
  /** Dispatch orders to it; the reply is the number of tins that are left. */
  readonly pickers: ConsumerGroup<Order, number>;
}

const Stock = defineServer({
  init: (_ctx, start: number) => ({ left: start }),
  calls: { take: (state, n: number) => (state.left -= n) },
});

/** Opens a shop with a hundred tins. Await `service.started` before the first order. */
export function openShop({ system, supplierAnswers, walk }: ShopOptions): Shop {
  const pickers = new ConsumerGroup<Order, number>({ name: "pickers", patienceMs: 1_000 });
  const picker = consumer<Order, number>(
    async (order) => {
      await walk();
      return Stock.at(system, "stock").call.take(order.n);
    },
    { group: pickers },
  );
  // The pickers stop before the stock: an order in work still finds it. Their time to stop is longer than a walk takes.
  const tree = supervisor({
    children: [
      { id: "stock", name: "stock", start: Stock, args: [100] },
      { id: "picker-1", start: picker, shutdown: 10_000 },
      { id: "picker-2", start: picker, shutdown: 10_000 },
    ],
  });
  const checks = { supplier: { check: supplierAnswers, cacheMs: 0 } };
  return { service: run(tree, { system, host: false, health: { checks } }), pickers };
}
