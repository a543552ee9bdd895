// The System that users create: processes, and what the floors above add to it.

import { dispatchThrough, envelopeFor } from "./dispatch/dispatch.js";
import type { Envelope, EnvelopeOptions } from "./dispatch/envelope.js";
import type { ConsumerGroup } from "./dispatch/group.js";
import type { Outcome } from "./dispatch/outcome.js";
import type { DispatchOptions } from "./dispatch/settings.js";
import { ProcessSystem } from "./process/system.js";

/**
 * The processes, names, groups, timers and events of one system. Several systems may live in one Node process. Everything
 * that a system started ends with the system.
 *
 * @example
 * await using system = new System({ name: "shop" });
 * const clerk = system.spawn<string>(async (ctx) => console.log(await ctx.receive()));
 * system.send(clerk, "an order");
 */
export class System extends ProcessSystem {
  /**
   * Dispatches to one consumer of a group, and resolves when the consumer has acknowledged. If the consumer crashes before
   * that, the envelope is re-routed to another consumer at once.
   *
   * @param payload - the payload, or an envelope made by {@link System.envelope}
   * @returns a promise of the outcome. It rejects with a DispatchError, with an OptionError, with SystemStoppedError, or with
   * the reason of `options.signal`
   *
   * @example const outcome = await system.dispatch(pickers, order, { deadlineMs: 2_000, maxAttempts: 3 });
   */
  dispatch<T, R = unknown>(
    group: ConsumerGroup<T, R>,
    payload: T | Envelope<T>,
    options?: DispatchOptions<T>,
  ): Promise<Outcome<T, R>> {
    return dispatchThrough(this.kernel, undefined, group, payload, options);
  }

  /**
   * Makes an envelope with an id. Dispatches of the same id to a group are one dispatch: the envelope is delivered once, and
   * each later dispatch gets the same receipt, for as long as the group remembers it.
   *
   * @throws OptionError
   * @example
   * const envelope = system.envelope(order, { id: "order 7", priority: 5 });
   * const outcome = await system.dispatch(pickers, envelope);
   */
  envelope<T>(payload: T, options?: EnvelopeOptions): Envelope<T> {
    return envelopeFor(this.kernel, payload, options);
  }
}
