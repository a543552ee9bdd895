// One dispatch for each envelope id: claimed while it is in flight, then remembered with its receipt, within a window.

import type { Outcome } from "./outcome.js";

/** How many receipts a group remembers, and for how long. */
export interface DedupWindow {
  /** Receipts at most. The oldest one goes first. */
  readonly window: number;
  /** Milliseconds. */
  readonly windowMs: number;
  /** Bytes of all their replies, estimated. */
  readonly windowBytes: number;
}

/** A remembered outcome, without the envelope: code that dispatches the id again has the envelope already. */
type Receipt<T> = Omit<Outcome<T>, "envelope" | "duplicate">;

interface Remembered<T> {
  readonly receipt: Receipt<T>;
  readonly bytes: number;
  readonly until: number;
}

/** `C` is a dispatch in flight. */
export class Deduplication<T, C = unknown> {
  readonly #claims = new Map<string, C>();
  /** In the order of completion. */
  readonly #receipts = new Map<string, Remembered<T>>();
  readonly #limits: DedupWindow;
  #bytes = 0;

  constructor(limits: DedupWindow) {
    this.#limits = limits;
  }

  /** The receipt of the completed dispatch of this id. */
  receipt(id: string, now: number): Receipt<T> | undefined {
    this.#forgetOld(now);
    return this.#receipts.get(id)?.receipt;
  }

  /** The dispatch of this id that is in flight, and may be joined. */
  inFlight(id: string): C | undefined {
    return this.#claims.get(id);
  }

  claim(id: string, conversation: C): void {
    this.#claims.set(id, conversation);
  }

  /** Forgets a dispatch that failed or lost its last caller, so that the id can be dispatched again. */
  release(id: string, conversation: C): void {
    if (this.#claims.get(id) === conversation) this.#claims.delete(id);
  }

  complete(
    id: string,
    { envelope: _envelope, duplicate: _duplicate, ...receipt }: Outcome<T>,
    now: number,
  ): void {
    this.#claims.delete(id);
    const bytes = bytesOf(receipt.reply);
    if (bytes > this.#limits.windowBytes) return;
    this.#receipts.set(id, { receipt, bytes, until: now + this.#limits.windowMs });
    this.#bytes += bytes;
    this.#forgetOld(now);
  }

  #forgetOld(now: number): void {
    const { window, windowBytes } = this.#limits;
    for (const [id, { bytes, until }] of this.#receipts) {
      if (until > now && this.#receipts.size <= window && this.#bytes <= windowBytes) return;
      this.#receipts.delete(id);
      this.#bytes -= bytes;
    }
  }
}

/** Values within a reply that the estimate looks at. */
const MOST_WEIGHED = 1_000;

/**
 * Estimates the bytes of a reply: strings and binary data in full, other values as eight bytes each. The estimate looks at
 * the first {@link MOST_WEIGHED} values only.
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
    // A Proxy may throw: the estimate stops there.
  }
  return bytes;
}

/** The members one by one, as far as they are asked for. Runs no getter. */
function* membersOf(value: object): Iterable<unknown> {
  if (Array.isArray(value) || value instanceof Map || value instanceof Set) yield* value;
  else for (const key in value) yield Object.getOwnPropertyDescriptor(value, key)?.value;
}
