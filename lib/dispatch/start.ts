// The start of a dispatch: an envelope, and a conversation for it, which its callers wait for.

import { SystemStoppedError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { onlyKnown } from "../process/known-options.js";
import type { Process } from "../process/process.js";
import { Conversation } from "./conversation.js";
import { BareEnvelope, type Envelope, OwnEnvelope } from "./envelope.js";
import type { ConsumerGroup } from "./group.js";
import type { Outcome } from "./outcome.js";
import { JoiningRequest } from "./request.js";
import { DISPATCH_SETTINGS, type DispatchOptions, type FullSettings, settingsOf } from "./settings.js";

const SETTINGS: readonly string[] = DISPATCH_SETTINGS;
export const DISPATCH_OPTIONS: ReadonlySet<string> = /* @__PURE__ */ new Set(
  /* @__PURE__ */ SETTINGS.concat("signal"),
);

/** Starts a conversation for the envelope, or joins the one that is in flight. */
export function startDispatch<T, R = unknown>(
  kernel: Kernel,
  owner: Process | undefined,
  group: ConsumerGroup<T, R>,
  payload: T | Envelope<T>,
  options: DispatchOptions<T> | undefined,
): Promise<Outcome<T, R>> {
  try {
    kernel.shared?.stopping("read");
    onlyKnown(options, DISPATCH_OPTIONS);
    if (options?.signal !== undefined) kernel.shared?.signals();
    if (kernel.stopped) throw new SystemStoppedError(kernel.node.name);
    options?.signal?.throwIfAborted();
    const settings = options === undefined ? group.settings : settingsOf(options, group.settings);
    // A bare payload has been wrapped already when its envelope comes from an error or an outcome.
    const isOwn = payload instanceof OwnEnvelope || payload instanceof BareEnvelope;
    const envelope: Envelope<T> = isOwn ? payload : new BareEnvelope(payload as T, kernel.env);
    let inFlight: Conversation<T> | undefined;
    if (isOwn) {
      group.touched("write");
      const receipt = group.dedup.receipt(envelope.id, kernel.env.now());
      if (receipt !== undefined)
        return Promise.resolve({ envelope, ...receipt, duplicate: true } as Outcome<T, R>);
      inFlight = group.dedup.inFlight(envelope.id);
    }
    if (inFlight !== undefined)
      return joined(kernel, owner, inFlight, settings, options) as Promise<Outcome<T, R>>;
    const conversation = new Conversation(group, envelope, settings, isOwn);
    // The group knows the type of the replies.
    const outcome = conversation.await(kernel, owner) as Promise<Outcome<T, R>>;
    conversation.start(kernel, owner);
    if (options?.signal !== undefined) conversation.obey(options.signal);
    return outcome;
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Another caller has dispatched the envelope, and its dispatch is in flight: this caller waits for the same end. */
function joined<T>(
  kernel: Kernel,
  owner: Process | undefined,
  conversation: Conversation<T>,
  { deadlineMs }: FullSettings<T>,
  options: DispatchOptions<T> | undefined,
): Promise<Outcome<T>> {
  const request = new JoiningRequest(conversation);
  const outcome = request.await(kernel, owner);
  const process = conversation.appear();
  // A joined conversation may run in another system. Its deadlines belong to that system, and end with it.
  request.begin(process.kernel, owner, process.pid, process, deadlineMs);
  if (options?.signal !== undefined) request.obey(options.signal);
  return outcome;
}
