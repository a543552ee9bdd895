// The order as a durable flow: charge, book, wait for an approval, ship. Each line goes on where it was after `kill -9`.

import { type AnyFlow, defineFlow, type FlowDefinition, type StepContext } from "signalbox/flow";
import { z } from "zod";
import type { Post } from "./partners.js";

/** What customers order. */
export interface Order {
  readonly id: string;
  /** In cents. */
  readonly total: number;
}

/** What a clerk says about an order. */
export interface Approval {
  readonly by: string;
  readonly ok: boolean;
}

const OrderSchema: z.ZodType<Order> = z.object({
  id: z.string().regex(/^[\w-]{1,64}$/),
  total: z.number().int().positive(),
});
const ApprovalSchema: z.ZodType<Approval> = z.object({ by: z.string().min(1), ok: z.boolean() });

/** How an order has ended. */
export interface Receipt {
  readonly order: string;
  readonly end: "shipped" | "refused" | "refunded";
  /** What has happened, in order. */
  readonly history: readonly string[];
}

/** What is known of an order that has not ended. */
export interface Doing {
  readonly doing: string;
  readonly history: readonly string[];
}

export interface Flows {
  readonly checkout: FlowDefinition<Order, Receipt, { readonly approval: Approval }, unknown>;
  readonly all: readonly AnyFlow[];
}

/** The bank says no: another attempt would not change that. */
export class DeclinedError extends Error {
  readonly retriable = false;
}

/** A partner may be down for a while: ten attempts take some minutes. */
const PATIENT = { retry: { attempts: 10, backoff: { minMs: 100, maxMs: 60_000 } }, timeout: "30 s" } as const;

/** @param post - asks a partner outside, such as the bank */
export function flowsOf(post: Post): Flows {
  // The key is the same in each attempt, also after a crash: the partner does its work once.
  const ask = <T>(path: string, order: Order, { idempotencyKey, signal }: StepContext): Promise<T> =>
    post<T>(path, { order: order.id, total: order.total }, idempotencyKey, signal);

  const shipping = defineFlow("shipping", async (flow, order: Order) => {
    const pick = await flow.step("pick", (step) => ask<{ shelf: string }>("/picks", order, step), PATIENT);
    const { parcel } = await flow.step(
      "send",
      (step) => ask<{ parcel: string }>("/parcels", order, step),
      PATIENT,
    );
    return { ...pick, parcel };
  });

  const checkout = defineFlow(
    "checkout",
    { input: OrderSchema, messages: { approval: ApprovalSchema }, errors: [DeclinedError] },
    async (flow, order): Promise<Receipt> => {
      const history: string[] = [];
      let doing = "begins";
      const now = (what: string): void => {
        doing = what;
        flow.progress(what);
      };
      flow.query("order", (): Doing => ({ doing, history }));
      const ended = (end: Receipt["end"]): Receipt => ({ order: order.id, end, history });

      now("charges the card");
      try {
        const { receipt } = await flow.step(
          "charge",
          (step) => ask<{ receipt: string }>("/charges", order, step),
          PATIENT,
        );
        history.push(`charged: ${receipt}`);
      } catch (error) {
        if (!(error instanceof DeclinedError)) throw error;
        history.push(`declined: ${error.message}`);
        return ended("refused");
      }

      // Commits together with the flow's checkpoint: the row is there exactly once.
      await flow.transaction("book", async (tx) => {
        await tx.execute("create table if not exists bookings (id text, total integer)");
        await tx.execute("insert into bookings (id, total) values (?, ?)", [order.id, order.total]);
      });
      history.push(`booked: ${order.total}`);

      now("waits for approval");
      const approval = await flow.receive("approval", { timeout: "2 days" });
      history.push(
        approval === undefined
          ? "nobody approved"
          : `${approval.ok ? "approved" : "rejected"} by ${approval.by}`,
      );
      if (approval?.ok !== true) {
        now("refunds");
        await flow.step("refund", (step) => ask("/refunds", order, step), PATIENT);
        history.push("refunded");
        return ended("refunded");
      }

      now("ships");
      const { shelf, parcel } = await flow.call(shipping, order);
      history.push(`picked: ${shelf}`, `sent: ${parcel}`);
      const booked = await flow.transaction(
        "count",
        async (tx) => (await tx.execute("select total from bookings where id = ?", [order.id])).rows.length,
      );
      history.push(`bookings: ${booked}`);
      return ended("shipped");
    },
  );
  return { checkout, all: [checkout, shipping] };
}
