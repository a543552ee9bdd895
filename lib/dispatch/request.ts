// The caller's side of a dispatch: a call to its conversation, which ends once, however that ends.

import { Request } from "../process/call.js";
import type { Process } from "../process/process.js";
import type { ExitReason } from "../process/reason.js";
import type { Conversation } from "./conversation.js";
import { ConversationError } from "./errors.js";
import type { Outcome } from "./outcome.js";

export const DEADLINE: { readonly type: "deadline" } = { type: "deadline" };

/** Ends with the conversation, and when that dies, with a ConversationError. */
export class DispatchRequest<T> extends Request<Outcome<T>> {
  conversation: Process | undefined = undefined;
  /** Whether dispatches of the same envelope id are to be this one. */
  claims = false;
  private readonly of: Conversation<T>;

  constructor(of: Conversation<T>) {
    super();
    this.of = of;
  }

  override fulfil(outcome: Outcome<T>): void {
    if (this.claims && this.open) this.of.group.dedup.complete(outcome.envelope.id, outcome);
    super.fulfil(outcome);
  }

  override fail(error: unknown): void {
    if (this.claims && this.open) this.of.group.dedup.release(this.of.envelope.id);
    super.fail(error);
  }

  override calleeExited(reason: ExitReason): void {
    const { group, envelope, state } = this.of;
    this.of.died();
    this.fail(new ConversationError(group.name, "died", reason, envelope, state.history));
  }

  /** The deadline. */
  override fire(): void {
    this.conversation?.deliver(DEADLINE);
  }

  /** The caller gave up. */
  override abandon(error: Error): void {
    this.fail(error);
    this.of.withdraw();
  }
}
