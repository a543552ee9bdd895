// The start of a dispatch: an envelope, a conversation for it, and a request that waits for its end.

import { SystemStoppedError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { adoptContext } from "../process/sender-context.js";
import { Conversation } from "./conversation.js";
import type { DispatchOptions } from "./dispatch.js";
import { BareEnvelope, type Envelope, OwnEnvelope } from "./envelope.js";
import type { ConsumerGroup } from "./group.js";
import type { Outcome } from "./outcome.js";
import { DispatchRequest } from "./request.js";
import { settingsOf } from "./settings.js";

const CONVERSATION = { label: "dispatch", trapExit: true } as const;

/** Starts a conversation for the envelope, or joins the one that is in flight, and waits for its end. */
export function startDispatch<T, R = unknown>(
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
      underWay = group.dedup.inFlight(envelope.id);
    }
    const conversation = underWay ?? new Conversation(group, envelope, settings, own);
    const request = new DispatchRequest(conversation, underWay !== undefined);
    // What its consumers reply with is the group's to know.
    const outcome = request.await(kernel, owner) as Promise<Outcome<T, R>>;
    if (underWay === undefined) {
      conversation.process = kernel.spawn(conversation, undefined, CONVERSATION);
      adoptContext(conversation.process.pid);
      if (own) conversation.claim();
    }
    const { process } = conversation;
    // The conversation may be of another system, and its deadlines are of that one: they end with it.
    request.begin(process.kernel, owner, process.pid, process, settings.deadlineMs);
    if (options?.signal !== undefined) request.obey(options.signal);
    return outcome;
  } catch (error) {
    return Promise.reject(error);
  }
}
