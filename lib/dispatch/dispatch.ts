// Dispatching: one envelope to one consumer of a group, by a conversation of its own.

import { settleHere } from "../process/carrying.js";
import type { Context } from "../process/context.js";
import { SystemStoppedError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { Conversation } from "./conversation.js";
import { BareEnvelope, type Envelope, type EnvelopeOptions, OwnEnvelope } from "./envelope.js";
import { type ConsumerGroup, type DispatchSettings, settingsOf } from "./group.js";
import type { Outcome } from "./outcome.js";
import { DispatchRequest } from "./request.js";

/**
 * Options of one dispatch; what is left out is as in the group. One that joins a dispatch of the same envelope which is
 * under way has its own `deadline` and `signal`; all else is as the first one asked for it.
 */
export interface DispatchOptions<T> extends DispatchSettings<T> {
  /**
   * Withdraws the dispatch: it rejects with the signal's reason, and the consumer's answer is not waited for, unless
   * another who dispatched the same envelope waits for it.
   */
  readonly signal?: AbortSignal;
}

const CONVERSATION = { label: "dispatch", trapExit: true } as const;

/** Dispatches from within a process, or from outside all of them. */
export function dispatchFrom<T, R = unknown>(
  kernel: Kernel,
  owner: Process | undefined,
  group: ConsumerGroup<T, R>,
  what: T | Envelope<T>,
  options: DispatchOptions<T> | undefined,
): Promise<Outcome<T, R>> {
  try {
    if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
    options?.signal?.throwIfAborted();
    const settings = options === undefined ? group.settings : settingsOf(options, group.settings);
    // The envelope of an error or an outcome may be dispatched again, and is one of the caller's own by then.
    const own = what instanceof OwnEnvelope || what instanceof BareEnvelope;
    const envelope: Envelope<T> = own ? what : new BareEnvelope(what as T, kernel.env);
    let underWay: Conversation<T> | undefined;
    if (own) {
      group.touched(kernel);
      const receipt = group.dedup.receipt(envelope.id, kernel.env.now());
      if (receipt !== undefined)
        return Promise.resolve({ envelope, ...receipt, duplicate: true } as Outcome<T, R>);
      underWay = group.dedup.underWay(envelope.id);
    }
    const conversation = underWay ?? new Conversation(group, envelope, settings);
    const request = new DispatchRequest(conversation, underWay !== undefined);
    // What its consumers reply with is the group's to know.
    const outcome = request.await(kernel, owner) as Promise<Outcome<T, R>>;
    if (underWay === undefined) {
      conversation.process = kernel.spawn(conversation, undefined, CONVERSATION);
      settleHere(conversation.process.pid);
      if (own) conversation.claim();
    }
    const { process } = conversation;
    // The conversation may be of another system, and its deadlines are of that one: they end with it.
    request.begin(process.kernel, owner, process.pid, process, settings.deadline);
    if (options?.signal !== undefined) request.obey(options.signal);
    return outcome;
  } catch (error) {
    return Promise.reject(error);
  }
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
  return dispatchFrom(process.kernel, process, group, what, options);
}

/** An envelope with an id of its own, or with other fields. See `system.envelope`. */
export function envelopeFor<T>(kernel: Kernel, payload: T, options: EnvelopeOptions = {}): Envelope<T> {
  return new OwnEnvelope(payload, kernel.env, options);
}
