// Dispatching: one envelope to one consumer of a group, by a conversation of its own.

import type { Context } from "../process/context.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { type Envelope, type EnvelopeOptions, OwnEnvelope } from "./envelope.js";
import type { ConsumerGroup } from "./group.js";
import type { Outcome } from "./outcome.js";
import type { DispatchSettings } from "./settings.js";

/**
 * Options of one dispatch; what is left out is as in the group. One that joins a dispatch of the same envelope which is
 * under way has its own `deadlineMs` and `signal`; all else is as the first one asked for it.
 */
export interface DispatchOptions<T> extends DispatchSettings<T> {
  /**
   * Withdraws the dispatch: it rejects with the signal's reason, and the consumer's answer is not waited for, unless
   * another who dispatched the same envelope waits for it.
   */
  readonly signal?: AbortSignal;
}

/**
 * Dispatches from within a process, or from outside all of them, by the group itself (see {@link ConsumerGroup.dispatch}).
 */
export function dispatchThrough<T, R = unknown>(
  kernel: Kernel,
  owner: Process | undefined,
  group: ConsumerGroup<T, R>,
  what: T | Envelope<T>,
  options: DispatchOptions<T> | undefined,
): Promise<Outcome<T, R>> {
  // Not by its class, which would bring all of dispatch into the bundle of everyone who makes a System.
  if (typeof (group as ConsumerGroup<T, R> | undefined)?.dispatch === "function")
    return group.dispatch(kernel, owner, what, options);
  return Promise.reject(new OptionError("group", group, "a ConsumerGroup"));
}

/**
 * Dispatches in a process's name: when that exits, the dispatch is withdrawn. See `system.dispatch`.
 *
 * @example const outcome = await dispatch(ctx, pickers, order);
 */
export function dispatch<T, R = unknown>(
  ctx: Context<never> | Context<unknown>,
  group: ConsumerGroup<T, R>,
  what: T | Envelope<T>,
  options?: DispatchOptions<T>,
): Promise<Outcome<T, R>> {
  const { process } = ctx.self;
  if (process === undefined) return Promise.reject(ctx.signal.reason);
  return dispatchThrough(process.kernel, process, group, what, options);
}

/** An envelope with an id of its own, or with other fields. See `system.envelope`. */
export function envelopeFor<T>(kernel: Kernel, payload: T, options: EnvelopeOptions = {}): Envelope<T> {
  return new OwnEnvelope(payload, kernel.env, options);
}
