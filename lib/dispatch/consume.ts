// The usual consumer: a function that works on the payload, and settles the delivery by how it ends.

import { Refusal } from "../behaviour/replies.js";
import { type Callbacks, Stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import { isThenable } from "../process/process.js";
import type { JoinOptions } from "./consumer.js";
import type { Delivery } from "./delivery.js";
import type { ConsumerGroup } from "./group.js";

/** Works on one payload. What it returns is the reply; `refuse(error)` rejects; a throw is a crash, and re-routes. */
export type Work<T> = (payload: T, delivery: Delivery<T>, ctx: Context<Delivery<T>>) => unknown;

/** The group that a consumer joins whenever it starts, so that one that its supervisor restarts is back at work at once. */
export interface ConsumerOptions<T> extends Omit<JoinOptions, "acknowledges"> {
  readonly group?: ConsumerGroup<T>;
}

/**
 * The behaviour of a consumer: acknowledges when `work` is done (unless that settled the delivery itself), replies with
 * what it returned, one envelope after the other.
 *
 * @example
 * const picker = consumer((order: Order) => shelf.take(order.item), { group: pickers });
 * const Floor = supervisor({ children: [{ id: "picker", start: picker }] });
 */
export function consumer<T>(work: Work<T>, options: ConsumerOptions<T> = {}): Callbacks<Delivery<T>> {
  const { group, ...joining } = options;
  return {
    init: (ctx) => {
      group?.join(ctx.self, joining);
    },
    handle: (ctx, delivery) => {
      const result = work(delivery.payload, delivery, ctx);
      return isThenable(result) ? result.then((value) => settle(delivery, value)) : settle(delivery, result);
    },
  };
}

function settle<T>(delivery: Delivery<T>, result: unknown): Stop | undefined {
  if (result instanceof Stop) {
    delivery.ack();
    return result;
  }
  if (result instanceof Refusal) delivery.reject(result.error);
  else if (result === undefined) delivery.ack();
  else delivery.reply(result);
  return undefined;
}
