// One dispatch per envelope id: claimed while under way, then remembered with its receipt, within a window.

import type { Outcome } from "./outcome.js";

export class Deduplication<T> {
  private readonly claims = new Map<string, Promise<Outcome<T>>>();
  /** In the order of completion. */
  private readonly receipts = new Map<string, Outcome<T>>();
  private readonly window: number;

  /** @param window - receipts remembered; the oldest are forgotten first */
  constructor(window: number) {
    this.window = window;
  }

  /** What is known of the id: the receipt of a completed dispatch, or the one under way. */
  find(id: string): Promise<Outcome<T>> | undefined {
    const receipt = this.receipts.get(id);
    if (receipt !== undefined) return Promise.resolve({ ...receipt, duplicate: true });
    return this.claims.get(id)?.then((outcome) => ({ ...outcome, duplicate: true }));
  }

  /** Notes a dispatch under way. */
  claim(id: string, outcome: Promise<Outcome<T>>): void {
    this.claims.set(id, outcome);
  }

  /** A dispatch that failed is forgotten, so that it can be tried again. */
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
