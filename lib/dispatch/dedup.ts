// One dispatch per envelope id: claimed while under way, then remembered with its receipt, within a window.

import type { Conversation } from "./conversation.js";
import type { Outcome } from "./outcome.js";

/** How many receipts are remembered, and for how long. */
export interface DedupWindow {
  /** Receipts at most; the oldest are forgotten first. */
  readonly window: number;
  /** Milliseconds. */
  readonly windowMs: number;
  /** Bytes of their replies, about. */
  readonly windowBytes: number;
}

/** What is remembered of a dispatch: its outcome without the envelope, which whoever asks for it again has himself. */
type Receipt<T> = Omit<Outcome<T>, "envelope" | "duplicate">;

interface Remembered<T> {
  readonly receipt: Receipt<T>;
  readonly bytes: number;
  readonly until: number;
}

export class Deduplication<T> {
  private readonly claims = new Map<string, Conversation<T>>();
  /** In the order of completion. */
  private readonly receipts = new Map<string, Remembered<T>>();
  private readonly limits: DedupWindow;
  private bytes = 0;

  constructor(limits: DedupWindow) {
    this.limits = limits;
  }

  /** The receipt of the dispatch that was completed. */
  receipt(id: string, now: number): Receipt<T> | undefined {
    this.forgetOld(now);
    return this.receipts.get(id)?.receipt;
  }

  /** The dispatch that may be joined. */
  inFlight(id: string): Conversation<T> | undefined {
    return this.claims.get(id);
  }

  claim(id: string, conversation: Conversation<T>): void {
    this.claims.set(id, conversation);
  }

  /** A dispatch that failed, or that nobody waits for, is forgotten, so that it can be tried again. */
  release(id: string, conversation: Conversation<T>): void {
    if (this.claims.get(id) === conversation) this.claims.delete(id);
  }

  complete(
    id: string,
    { envelope: _envelope, duplicate: _duplicate, ...receipt }: Outcome<T>,
    now: number,
  ): void {
    this.claims.delete(id);
    const bytes = bytesOf(receipt.reply);
    if (bytes > this.limits.windowBytes) return;
    this.receipts.set(id, { receipt, bytes, until: now + this.limits.windowMs });
    this.bytes += bytes;
    this.forgetOld(now);
  }

  private forgetOld(now: number): void {
    const { window, windowBytes } = this.limits;
    for (const [id, { bytes, until }] of this.receipts) {
      if (until > now && this.receipts.size <= window && this.bytes <= windowBytes) return;
      this.receipts.delete(id);
      this.bytes -= bytes;
    }
  }
}

/** Values within a reply that are weighed. */
const MOST_WEIGHED = 1_000;

/**
 * The bytes of a reply, about: texts and binary data in full, other values eight bytes each. Of a reply with very many values
 * only the first are looked at.
 */
function bytesOf(reply: unknown): number {
  const values: unknown[] = [reply];
  let bytes = 0;
  try {
    for (const value of values) {
      bytes += 8;
      if (typeof value === "string") bytes += 2 * value.length;
      else if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) bytes += value.byteLength;
      else if (typeof value === "object" && value !== null) {
        for (const member of membersOf(value)) {
          if (values.length === MOST_WEIGHED) break;
          values.push(member);
        }
      }
    }
  } catch {
    // A Proxy that resists is not weighed any further.
  }
  return bytes;
}

/** One by one, as far as somebody looks. No getter runs. */
function* membersOf(value: object): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) yield* value;
  else for (const key in value) yield Object.getOwnPropertyDescriptor(value, key)?.value;
}
