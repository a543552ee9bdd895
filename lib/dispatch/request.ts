// The side of one who waits for a dispatch: a call to its conversation, which ends once, however that ends. Whoever
// dispatches an envelope that is under way has such a call too, to the same conversation, which outlives all but the last.

import type { Process } from "../process/process.js";
import type { ExitReason } from "../process/reason.js";
import { Request } from "../process/request.js";
import type { Conversation } from "./conversation.js";
import { DEADLINE } from "./messages.js";
import type { Outcome } from "./outcome.js";

/** Ends with the conversation, and when that dies, with a ConversationError. */
export class DispatchRequest<T> extends Request<Outcome<T>> {
  /** Its deadline has passed, and the conversation has yet to hear of that. */
  isOverdue = false;
  private readonly of: Conversation<T>;
  private readonly joins: boolean;

  /** @param joins - the conversation was begun for another */
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

  /** The deadline. */
  override fire(): void {
    this.isOverdue = true;
    this.of.process.deliver(DEADLINE);
  }

  /** This one gave up. */
  override abandon(error: Error): void {
    this.fail(error);
    this.of.leave(error);
  }
}

/** Those who wait for a conversation, in the order in which they asked: its open calls, which are listed newest first. */
export function requestsTo<T>(conversation: Process): DispatchRequest<T>[] {
  const newest = conversation.requests;
  if (newest instanceof DispatchRequest && newest.next === undefined) return [newest];
  const waiters: DispatchRequest<T>[] = [];
  for (let request = newest; request !== undefined; request = request.next)
    if (request instanceof DispatchRequest) waiters.push(request);
  return waiters.reverse();
}
