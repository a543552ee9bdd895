// The answer to the exercise of docs/course/11-durable-flows.md: an order that waits two days for its payment.

import { defineFlow, type FlowDefinition } from "signalbox/flow";

/** What the flow asks of the shop. Each may be asked twice with one key, and does its work once. */
export interface Shop {
  reserve(key: string): void | Promise<void>;
  putBack(key: string): void | Promise<void>;
  ship(key: string): void | Promise<void>;
}

export interface Order {
  readonly item: string;
  readonly n: number;
}

export type OrderEnd = "shipped" | "cancelled";

/** An order: reserved, then shipped when it is paid within two days, or put back. */
export function orderFlow(shop: Shop): FlowDefinition<Order, OrderEnd> {
  return defineFlow("order", async (flow, _order: Order): Promise<OrderEnd> => {
    await flow.step("reserve", ({ idempotencyKey }) => shop.reserve(idempotencyKey));
    const payment = await flow.receive<string>("paid", { timeout: "2 days" });
    if (payment === undefined) {
      await flow.step("put back", ({ idempotencyKey }) => shop.putBack(idempotencyKey));
      return "cancelled";
    }
    await flow.step("ship", ({ idempotencyKey }) => shop.ship(idempotencyKey));
    return "shipped";
  });
}
