// One dispatch per envelope id: claimed while under way, then remembered with its receipt, within a window.

import type { Outcome } from "./outcome.js";

type Entry<T> = { readonly claimed: Promise<Outcome<T>> } | { readonly receipt: Outcome<T> };

export class Deduplication<T> {
  private readonly entries = new Map<string, Entry<T>>();
  private readonly window: number;
  private receipts = 0;

  /** @param window - receipts remembered; the oldest are forgotten first */
  constructor(window: number) {
    this.window = window;
  }

  /** What is known of the id: the receipt of a completed dispatch, or the one under way. */
  find(id: string): Promise<Outcome<T>> | undefined {
    const entry = this.entries.get(id);
    if (entry === undefined) return undefined;
    if ("receipt" in entry) return Promise.resolve({ ...entry.receipt, duplicate: true });
    return entry.claimed.then((outcome) => ({ ...outcome, duplicate: true }));
  }

  /** Remembers a dispatch under way. One that fails is forgotten, so that it can be tried again. */
  claim(id: string, outcome: Promise<Outcome<T>>): void {
    this.entries.set(id, { claimed: outcome });
    outcome.then(
      (receipt) => this.complete(id, receipt),
      () => this.entries.delete(id),
    );
  }

  private complete(id: string, receipt: Outcome<T>): void {
    // Written anew, so that the order of the map is the order of completion.
    this.entries.delete(id);
    if (this.window === 0) return;
    this.entries.set(id, { receipt });
    this.receipts++;
    if (this.receipts <= this.window) return;
    for (const [oldest, entry] of this.entries) {
      if (!("receipt" in entry)) continue;
      this.entries.delete(oldest);
      this.receipts--;
      return;
    }
  }
}
