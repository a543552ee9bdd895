// One dispatch per envelope id: claimed while under way, then remembered with its receipt, within a window.

import type { Conversation } from "./conversation.js";
import type { Outcome } from "./outcome.js";

export class Deduplication<T> {
  private readonly claims = new Map<string, Conversation<T>>();
  /** In the order of completion. */
  private readonly receipts = new Map<string, Outcome<T>>();
  private readonly window: number;

  /** @param window - receipts remembered; the oldest are forgotten first */
  constructor(window: number) {
    this.window = window;
  }

  /** The receipt of the dispatch that was completed. */
  receipt(id: string): Outcome<T> | undefined {
    return this.receipts.get(id);
  }

  /** The dispatch that may be joined. */
  underWay(id: string): Conversation<T> | undefined {
    return this.claims.get(id);
  }

  claim(id: string, conversation: Conversation<T>): void {
    this.claims.set(id, conversation);
  }

  /** A dispatch that failed, or that nobody waits for, is forgotten, so that it can be tried again. */
  release(id: string): void {
    this.claims.delete(id);
  }

  complete(id: string, receipt: Outcome<T>): void {
    this.claims.delete(id);
    if (this.window === 0) return;
    this.receipts.set(id, receipt);
    if (this.receipts.size <= this.window) return;
    for (const oldest of this.receipts.keys()) {
      this.receipts.delete(oldest);
      return;
    }
  }
}
