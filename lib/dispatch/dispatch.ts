// Dispatching: one envelope to one consumer of a group, by a conversation of its own.

import type { Context } from "../process/context.js";
import { SystemStoppedError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { Conversation } from "./conversation.js";
import { BareEnvelope, type Envelope, type EnvelopeOptions, OwnEnvelope } from "./envelope.js";
import { type ConsumerGroup, type DispatchSettings, settingsOf } from "./group.js";
import type { Outcome } from "./outcome.js";

/** Options of one dispatch; what is left out is as in the group. */
export interface DispatchOptions<T> extends DispatchSettings<T> {
  /** Withdraws the dispatch: it rejects with the signal's reason, and the consumer's answer is not waited for. */
  readonly signal?: AbortSignal;
}

const CONVERSATION = { label: "dispatch", trapExit: true } as const;

/** Dispatches from within a process, or from outside all of them. */
export function dispatchFrom<T>(
  kernel: Kernel,
  owner: Process | undefined,
  group: ConsumerGroup<T>,
  what: T | Envelope<T>,
  options: DispatchOptions<T> | undefined,
): Promise<Outcome<T>> {
  try {
    if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
    options?.signal?.throwIfAborted();
    const settings = options === undefined ? group.settings : settingsOf(options, group.settings);
    // The envelope of an error or an outcome may be dispatched again, and is one of the caller's own by then.
    const own = what instanceof OwnEnvelope || what instanceof BareEnvelope;
    const envelope: Envelope<T> = own ? what : new BareEnvelope(what as T, kernel.env);
    if (own) {
      const known = group.dedup.find(envelope.id);
      if (known !== undefined)
        return options?.signal === undefined ? known : orAborted(known, options.signal);
    }
    const conversation = new Conversation(group, envelope, settings);
    const { request } = conversation;
    const outcome = request.await(kernel, owner);
    const process = kernel.spawn(conversation, undefined, CONVERSATION);
    request.conversation = process;
    request.begin(kernel, owner, process.pid, process, settings.deadline);
    if (options?.signal !== undefined) request.obey(options.signal);
    if (own) {
      request.claims = true;
      group.dedup.claim(envelope.id, outcome);
    }
    return outcome;
  } catch (error) {
    return Promise.reject(error);
  }
}

/** One who only waits for the outcome of another's dispatch gives up alone. */
function orAborted<T>(outcome: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    outcome.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/**
 * Dispatches in a process's name: when that exits, the dispatch is withdrawn. See `system.dispatch`.
 *
 * @example const outcome = await dispatch(ctx, pickers, order);
 */
export function dispatch<T>(
  ctx: Context<never> | Context<unknown>,
  group: ConsumerGroup<T>,
  what: T | Envelope<T>,
  options?: DispatchOptions<T>,
): Promise<Outcome<T>> {
  const { process } = ctx.self;
  if (process === undefined) return Promise.reject(ctx.signal.reason);
  return dispatchFrom(process.kernel, process, group, what, options);
}

/** An envelope with an id of its own, or with other fields. See `system.envelope`. */
export function envelopeFor<T>(kernel: Kernel, payload: T, options: EnvelopeOptions = {}): Envelope<T> {
  return new OwnEnvelope(payload, kernel.env, options);
}
