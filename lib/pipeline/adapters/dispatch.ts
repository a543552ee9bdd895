// Hands messages to the consumers of a group.

import { dispatchThrough, envelopeFor } from "../../dispatch/dispatch.js";
import type { ConsumerGroup } from "../../dispatch/group.js";
import type { Outcome } from "../../dispatch/outcome.js";
import { DISPATCH_OPTIONS, type DispatchOptions } from "../../dispatch/settings.js";
import { only } from "../../process/known-options.js";
import { callable, withMethod } from "../../process/options.js";
import type { Adapter } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";

/** Options of {@link dispatchTo}. */
export interface DispatchToOptions<T, R, O> {
  /** The message that goes on, of the receipt. Default: the reply of the consumer. */
  readonly result?: (outcome: Outcome<T, R>, value: T) => O | undefined;
  /** Options of each dispatch. The group has the value of each that is left out. */
  readonly dispatch?: Omit<DispatchOptions<T>, "signal">;
}

/**
 * Dispatches each message to a consumer of a group on this host, and goes on with its reply; without a reply the message ends. The id of
 * the envelope is derived from the message: a group that remembers it delivers it once, however often the message is tried.
 *
 * @throws OptionError
 * @example
 * const clerks = new ConsumerGroup<number, string>();
 * const priced = dispatchTo("price", clerks);
 */
export function dispatchTo<T, R, O = R>(
  name: string,
  group: ConsumerGroup<T, R>,
  options: DispatchToOptions<T, R, O> = {},
): Adapter<T, O> {
  checkName("name", name);
  withMethod("group", group, "dispatch", "a ConsumerGroup");
  only("", options, ["result", "dispatch"]);
  const { result, dispatch } = options;
  if (dispatch !== undefined) only("dispatch", dispatch, [...DISPATCH_OPTIONS]);
  if (result !== undefined) callable("result", result);
  return {
    name,
    async process(value, { kernel, idempotencyKey, signal }) {
      const envelope = envelopeFor(kernel, value, { id: idempotencyKey });
      const outcome = await dispatchThrough(kernel, undefined, group, envelope, { ...dispatch, signal });
      return result === undefined ? (outcome.reply as O | undefined) : result(outcome, value);
    },
  };
}
