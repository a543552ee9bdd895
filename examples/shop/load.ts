// Customers: many orders at once, by autocannon. Whoever gets no answer, or a 503, sends the same order again.

import { setTimeout as sleep } from "node:timers/promises";
import autocannon from "autocannon";
import type { Order } from "./order.js";
import { BAD_CARD } from "./outside.js";

/** How long customers wait when the shop does not answer. */
const BREAK_MS = 100;

export interface Load {
  /** Where the shop is now. */
  readonly url: () => string;
  readonly orders: readonly Order[];
  /** Customers at once. */
  readonly connections: number;
  /** Called after each accepted order, with their number. */
  readonly onAccepted?: (count: number) => void;
}

/** What the customers saw. */
export interface Customers {
  /** Ids of the orders that the shop has accepted. */
  readonly accepted: ReadonlySet<string>;
  /** Answers by status; 0 counts connections that ended without one. */
  readonly answers: ReadonlyMap<number, number>;
}

/** Orders of one or two lines; one in `badCards` with a card that the bank declines. */
export function ordersOf(
  prefix: string,
  count: number,
  skus: readonly string[],
  badCards: number,
): readonly Order[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `${prefix}-${i + 1}`,
    card: (i + 1) % badCards === 0 ? BAD_CARD : "good",
    lines: [0, 1]
      .slice(0, 1 + (i % 2))
      .map((k) => ({ sku: skus[(i + k) % skus.length] ?? "", count: 1 + (i % 3) })),
  }));
}

/** Sends every order until it is accepted. */
export async function send({ url, orders, connections, onAccepted }: Load): Promise<Customers> {
  const accepted = new Set<string>();
  const answers = new Map<number, number>();
  const left = [...orders].reverse();
  const count = (status: number): void => void answers.set(status, (answers.get(status) ?? 0) + 1);
  while (left.length > 0) {
    const sent: Order[] = [];
    const { errors, timeouts } = await autocannon({
      url: `${url()}/orders`,
      connections: Math.min(connections, left.length),
      amount: left.length,
      requests: [
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          setupRequest: (request) => {
            const order = left.pop() ?? sent[0];
            if (order === undefined) return request;
            sent.push(order);
            return { ...request, body: JSON.stringify(order) };
          },
          onResponse: (status, body) => {
            count(status);
            if (status !== 202) return;
            accepted.add((JSON.parse(body) as { readonly id: string }).id);
            onAccepted?.(accepted.size);
          },
        },
      ],
    });
    for (let i = 0; i < errors + timeouts; i++) count(0);
    if (errors > 0) await sleep(BREAK_MS);
    for (const order of sent) if (!accepted.has(order.id) && !left.includes(order)) left.push(order);
  }
  return { accepted, answers };
}
