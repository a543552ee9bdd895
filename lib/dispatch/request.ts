// The caller's side of a dispatch: a call to the conversation, which ends once. A caller who dispatches an envelope that is
// in flight has such a call to the same conversation. The conversation goes on until its last caller has given up.

import type { Process } from "../process/process.js";
import type { ExitReason } from "../process/reason.js";
import { Request } from "../process/request.js";
import type { Conversation } from "./conversation.js";
import { DEADLINE } from "./messages.js";
import type { Outcome } from "./outcome.js";

/** Ends with the conversation. If the conversation dies, the request fails with a ConversationError. */
export class DispatchRequest<T> extends Request<Outcome<T>> {
  /** The deadline of this caller has passed, and the conversation has not handled that yet. */
  isOverdue = false;
  private readonly of: Conversation<T>;
  private readonly joins: boolean;

  /** @param joins - another caller started the conversation */
  constructor(of: Conversation<T>, joins: boolean) {
    super();
    this.of = of;
    this.joins = joins;
  }

  override fulfil(outcome: Outcome<T>): void {
    super.fulfil(this.joins ? { ...outcome, duplicate: true } : outcome);
  }

  override calleeExited(reason: ExitReason): void {
    this.of.died(reason);
    // A conversation that had closed before fails no request any more, and the kernel would ask for ever.
    if (this.open) super.calleeExited(reason);
  }

  /** Called by the kernel when the deadline of this caller has passed. */
  override fire(): void {
    const { kernel, pid } = this.of.process;
    kernel.shared?.process(pid, "write");
    this.isOverdue = true;
    this.of.process.deliver(DEADLINE);
  }

  /** This caller gives up. */
  override abandon(error: Error): void {
    this.fail(error);
    this.of.leave(error);
  }
}

/** The open requests to a conversation, oldest first. The kernel lists them newest first. */
export function requestsTo<T>(conversation: Process): DispatchRequest<T>[] {
  const newest = conversation.requests;
  if (newest instanceof DispatchRequest && newest.next === undefined) return [newest];
  const waiters: DispatchRequest<T>[] = [];
  for (let request = newest; request !== undefined; request = request.next)
    if (request instanceof DispatchRequest) waiters.push(request);
  return waiters.reverse();
}
