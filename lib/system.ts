// The System that users create: processes, and what the floors above add to it.

import { type DispatchOptions, dispatchThrough, envelopeFor } from "./dispatch/dispatch.js";
import type { Envelope, EnvelopeOptions } from "./dispatch/envelope.js";
import type { ConsumerGroup } from "./dispatch/group.js";
import type { Outcome } from "./dispatch/outcome.js";
import { ProcessSystem } from "./process/system.js";

/**
 * The processes, names, groups, timers and events of one system. Explicit: several may live in one Node process, and
 * what a system started ends with it.
 *
 * @example
 * await using system = new System({ name: "shop" });
 * const clerk = system.spawn<string>(async (ctx) => console.log(await ctx.receive()));
 * system.send(clerk, "an order");
 */
export class System extends ProcessSystem {
  /**
   * Dispatches a payload, or an envelope of one's own, to one consumer of a group. Resolves when that has acknowledged;
   * a crash at any moment before re-routes to another at once. Rejects with one of the DispatchErrors.
   *
   * @example const outcome = await system.dispatch(pickers, order, { deadlineMs: 2_000, maxAttempts: 3 });
   */
  dispatch<T, R = unknown>(
    group: ConsumerGroup<T, R>,
    what: T | Envelope<T>,
    options?: DispatchOptions<T>,
  ): Promise<Outcome<T, R>> {
    return dispatchThrough(this.kernel, undefined, group, what, options);
  }

  /**
   * Makes an envelope, for dispatches that are to be one: the same `id` is delivered once, and its receipt handed out
   * again to whoever dispatches it later.
   *
   * @throws OptionError
   */
  envelope<T>(payload: T, options?: EnvelopeOptions): Envelope<T> {
    return envelopeFor(this.kernel, payload, options);
  }
}
