// The usual consumer: a function that works on the payload, and settles the delivery by how it ends.

import { Refusal } from "../behaviour/replies.js";
import { type Callbacks, type Stop, Stop as StopValue } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import { isThenable } from "../process/process.js";
import type { Delivery } from "./delivery.js";

/** Works on one payload. What it returns is the reply; `refuse(error)` rejects; a throw is a crash, and re-routes. */
export type Work<T> = (payload: T, delivery: Delivery<T>, ctx: Context<Delivery<T>>) => unknown;

/**
 * The behaviour of a consumer: acknowledges when `work` is done (unless that settled the delivery itself), replies with
 * what it returned, one envelope after the other.
 *
 * @example
 * const picker = system.spawn(consumer((order: Order) => shelf.take(order.item)));
 * pickers.join(picker);
 */
export function consumer<T>(work: Work<T>): Callbacks<Delivery<T>> {
  return {
    handle: (ctx, delivery) => {
      const result = work(delivery.payload, delivery, ctx);
      return isThenable(result) ? result.then((value) => settle(delivery, value)) : settle(delivery, result);
    },
  };
}

function settle<T>(delivery: Delivery<T>, result: unknown): Stop | undefined {
  if (result instanceof StopValue) {
    delivery.ack();
    return result;
  }
  if (result instanceof Refusal) delivery.reject(result.error);
  else if (result === undefined) delivery.ack();
  else delivery.reply(result);
  return undefined;
}
