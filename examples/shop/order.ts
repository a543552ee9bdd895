// An order as a customer sends it, and the facts that the shop writes down about it.

import { z } from "zod";

/** So many pieces of one article. */
export interface Line {
  readonly sku: string;
  readonly count: number;
}

export interface Order {
  /** Chosen by the customer: an order that is sent twice is one order. */
  readonly id: string;
  readonly lines: readonly Line[];
  /** The token of a card. */
  readonly card: string;
}

const Order: z.ZodType<Order> = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/, "1 to 64 letters, digits, _ or -"),
  lines: z
    .array(z.object({ sku: z.string().min(1).max(64), count: z.int().min(1).max(1_000) }))
    .min(1)
    .max(50),
  card: z.string().min(1).max(200),
});

/** What has happened to an order. Each kind of fact is written once for an order. */
export type Fact =
  | { readonly type: "accepted"; readonly id: string; readonly order: Order }
  | { readonly type: "reserved"; readonly id: string }
  | { readonly type: "charged"; readonly id: string; readonly receipt: string }
  | { readonly type: "picked"; readonly id: string; readonly picker: string }
  | { readonly type: "labelled"; readonly id: string; readonly label: string }
  | { readonly type: "shipped"; readonly id: string; readonly parcel: string }
  | { readonly type: "refused"; readonly id: string; readonly why: string };

/** An order with its facts, by kind. */
export type Facts = { readonly [T in Fact["type"]]?: Extract<Fact, { readonly type: T }> };

/** Nothing is left to do for the order. */
export function isSettled(facts: Facts): boolean {
  return facts.shipped !== undefined || facts.refused !== undefined;
}

/** Why a request is no order, in words for the customer. */
export class BadOrderError extends Error {
  override readonly name = "BadOrderError";
}

/** @throws BadOrderError */
export function parseOrder(given: unknown): Order {
  const { success, data, error } = Order.safeParse(given);
  if (success) return data;
  throw new BadOrderError(
    error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "),
  );
}
