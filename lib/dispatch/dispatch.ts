// The functions that users call to dispatch, and those that System needs. The dispatch itself starts in group.ts.

import { Context } from "../process/context.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { type Envelope, type EnvelopeOptions, OwnEnvelope } from "./envelope.js";
import type { ConsumerGroup } from "./group.js";
import type { Outcome } from "./outcome.js";
import type { DispatchOptions } from "./settings.js";

/** Dispatches for a process, or for code outside all processes, through the group. Rejects when `group` is no group. */
export function dispatchThrough<T, R = unknown>(
  kernel: Kernel,
  owner: Process | undefined,
  group: ConsumerGroup<T, R>,
  payload: T | Envelope<T>,
  options: DispatchOptions<T> | undefined,
): Promise<Outcome<T, R>> {
  // `instanceof` would import the class, and all of dispatch with it, into every bundle that has a System.
  if (typeof (group as ConsumerGroup<T, R> | undefined)?.dispatch === "function")
    return group.dispatch(kernel, owner, payload, options);
  return Promise.reject(new OptionError("group", group, "a ConsumerGroup"));
}

/**
 * Dispatches in the name of a process: when the process exits, the dispatch is withdrawn. Otherwise as `system.dispatch`.
 *
 * @param payload - the payload, or an envelope made by `system.envelope`
 * @returns a promise of the outcome. It rejects with a {@link DispatchError}
 * @example const outcome = await dispatch(ctx, pickers, order);
 */
export function dispatch<T, R = unknown>(
  ctx: Context<never> | Context<unknown>,
  group: ConsumerGroup<T, R>,
  payload: T | Envelope<T>,
  options?: DispatchOptions<T>,
): Promise<Outcome<T, R>> {
  if (!(ctx instanceof Context)) return Promise.reject(new OptionError("ctx", ctx, "the ctx of a process"));
  const { process } = ctx.self;
  if (process === undefined) return ctx.refusal();
  return dispatchThrough(process.kernel, process, group, payload, options);
}

/** Makes an envelope. See `system.envelope`. */
export function envelopeFor<T>(kernel: Kernel, payload: T, options: EnvelopeOptions = {}): Envelope<T> {
  return new OwnEnvelope(payload, kernel.env, options);
}
