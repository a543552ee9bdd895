// The caller's side of a dispatch: a call, which ends once. The call of the first caller is the conversation itself. A caller
// who dispatches an envelope that is in flight joins that conversation, which goes on until its last caller has given up.

import type { Process } from "../process/process.js";
import type { ExitReason } from "../process/reason.js";
import { Request } from "../process/request.js";
import type { Conversation } from "./conversation.js";
import type { Outcome } from "./outcome.js";

/** Ends with the conversation. If the conversation dies, the request fails with a ConversationError. */
export abstract class DispatchRequest<T> extends Request<Outcome<T>> {
  /** The deadline of this caller has passed, and the conversation has not handled that yet. Only then there is such a field. */
  declare isOverdue?: true;

  abstract get of(): Conversation<T>;

  override calleeExited(reason: ExitReason): void {
    this.of.died(reason);
    // A conversation that had closed before fails no request any more, and the kernel would ask for ever.
    if (this.open) super.calleeExited(reason);
  }

  /** Called by the kernel when the deadline of this caller has passed. */
  override fire(): void {
    this.isOverdue = true;
    this.of.overdue();
  }

  /** This caller gives up. */
  override abandon(error: Error): void {
    this.fail(error);
    this.of.leave(error);
  }
}

/** The request of a caller who joins a conversation that another caller started. */
export class JoiningRequest<T> extends DispatchRequest<T> {
  readonly of: Conversation<T>;

  constructor(of: Conversation<T>) {
    super();
    this.of = of;
  }

  override fulfil(outcome: Outcome<T>): void {
    super.fulfil({ ...outcome, duplicate: true });
  }
}

/** The open requests to the process of a conversation, oldest first. The kernel lists them newest first. */
export function requestsTo<T>(conversation: Process): DispatchRequest<T>[] {
  const newest = conversation.requests;
  if (newest instanceof DispatchRequest && newest.next === undefined) return [newest];
  const waiters: DispatchRequest<T>[] = [];
  for (let request = newest; request !== undefined; request = request.next)
    if (request instanceof DispatchRequest) waiters.push(request);
  return waiters.reverse();
}
