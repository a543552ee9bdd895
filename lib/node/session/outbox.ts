// The texts that one end of a session has not sent yet, within bounds, and those that it has sent and that are not acknowledged. The outbox
// is part of the state of the session machine: mutable for speed, and deterministic.
//
// Texts go into frames in the order of their sending. A large text is cut into parts, which go between the frames of the others. Texts
// for the receiver of a large text wait behind it, and it ends behind those before it; the others overtake it. One large text is on
// its way at a time.

import { EMPTY, Mailbox } from "../../process/mailbox.js";

/** The text of one signal, as the codec made it. */
export interface OutgoingText {
  readonly text: string;
  /** The receiver at the other node. Texts of one lane keep their order. */
  readonly lane: number;
  /** Whether it may be refused when the queue is full: a message. Other signals may not: without them a link would be half there. */
  readonly isRefusable: boolean;
  /** What the text says; opaque here. It comes back when the text is lost. */
  readonly signal: unknown;
}

/** How much may wait and how large frames are; see SESSION_DEFAULTS. */
export interface OutboxLimits {
  readonly queueSignals: number;
  readonly queueBytes: number;
  readonly batchSignals: number;
  readonly batchSize: number;
}

/** The content of one frame: some texts, or a part of a large one. */
export type Cargo =
  | { readonly type: "data"; readonly body: string; readonly texts: readonly OutgoingText[] }
  | {
      readonly type: "part";
      readonly body: string;
      readonly isLast: boolean;
      /** The text, with its last part. */
      readonly texts: readonly OutgoingText[];
    };

/** The memory of a text beside its characters: the objects that hold it. */
const TEXT_OVERHEAD = 160;

/** The memory of a text, about, with the signal that it came from. */
function weightOf({ text }: OutgoingText): number {
  return 2 * text.length + TEXT_OVERHEAD;
}

export class Outbox {
  readonly #limits: OutboxLimits;
  /** Small texts that may go. */
  readonly #ready = new Mailbox();
  #readySize = 0;
  /** How many small texts were placed, and how many of them have gone. */
  #placed = 0;
  #taken = 0;
  /** Large texts, the first of which is on its way. `after`: so many small texts were placed before. */
  readonly #large: { readonly text: OutgoingText; readonly after: number }[] = [];
  #offset = 0;
  /** By lane of a large text: the texts that wait behind it. */
  readonly #behind = new Map<number, OutgoingText[]>();
  #isPartNext = false;
  /** Texts that have not gone whole, and their memory. */
  signals = 0;
  size = 0;

  constructor(limits: OutboxLimits) {
    this.#limits = limits;
  }

  get isEmpty(): boolean {
    return this.signals === 0;
  }

  /** A whole frame of small texts waits. */
  get hasBatch(): boolean {
    const { batchSignals, batchSize } = this.#limits;
    return this.#ready.length >= batchSignals || this.#readySize >= batchSize;
  }

  /** Whether there is room for a text. An empty queue has room for any. Signals that must not be lost have twice the room. */
  admits(text: OutgoingText): boolean {
    if (this.signals === 0) return true;
    const { queueSignals, queueBytes } = this.#limits;
    const room = text.isRefusable ? 1 : 2;
    return this.signals < room * queueSignals && this.size + weightOf(text) <= room * queueBytes;
  }

  push(text: OutgoingText): void {
    this.signals++;
    this.size += weightOf(text);
    const waiting = this.#behind.size === 0 ? undefined : this.#behind.get(text.lane);
    if (waiting !== undefined) waiting.push(text);
    else this.#place(text);
  }

  #place(text: OutgoingText): void {
    if (text.text.length > this.#limits.batchSize) {
      this.#large.push({ text, after: this.#placed });
      this.#behind.set(text.lane, []);
    } else {
      this.#ready.push(text);
      this.#placed++;
      this.#readySize += text.text.length;
    }
  }

  /** Takes the content of the next frame: small texts and parts by turns. Undefined when there is none. */
  take(takesParts = true): Cargo | undefined {
    const isPart = takesParts && this.#mayPart && (this.#isPartNext || this.#ready.isEmpty);
    this.#isPartNext = !isPart;
    if (isPart) return this.#part();
    return this.#ready.isEmpty ? undefined : this.#batch();
  }

  /** The last part of a large text waits for the small texts before it. */
  get #mayPart(): boolean {
    const [next] = this.#large;
    if (next === undefined) return false;
    return this.#taken >= next.after || this.#offset + this.#limits.batchSize < next.text.text.length;
  }

  #batch(): Cargo {
    const { batchSignals, batchSize } = this.#limits;
    const texts: OutgoingText[] = [];
    const bodies: string[] = [];
    let size = 0;
    while (texts.length < batchSignals && size < batchSize) {
      const next = this.#ready.shift();
      if (next === EMPTY) break;
      const text = next as OutgoingText;
      texts.push(text);
      bodies.push(text.text);
      size += text.text.length;
      this.#gone(text);
    }
    this.#readySize -= size;
    this.#taken += texts.length;
    return { type: "data", body: `[${bodies.join(",")}]`, texts };
  }

  #part(): Cargo {
    const large = (this.#large[0] as { readonly text: OutgoingText }).text;
    const { text } = large;
    let end = Math.min(this.#offset + this.#limits.batchSize, text.length);
    // Halves of a character would not survive UTF-8.
    if (end < text.length && isHighSurrogate(text.charCodeAt(end - 1))) end--;
    const body = text.slice(this.#offset, end);
    this.#offset = end;
    const isLast = end === text.length;
    if (isLast) this.#wentWhole(large);
    return { type: "part", body, isLast, texts: isLast ? [large] : [] };
  }

  /** Texts that waited behind a large one may go, up to the next large one of their lane. */
  #wentWhole(large: OutgoingText): void {
    this.#large.shift();
    this.#offset = 0;
    this.#gone(large);
    const waiting = this.#behind.get(large.lane) ?? [];
    this.#behind.delete(large.lane);
    for (const [index, text] of waiting.entries()) {
      const blocked = this.#behind.get(text.lane);
      if (blocked !== undefined) {
        blocked.push(...waiting.slice(index));
        return;
      }
      this.#place(text);
    }
  }

  #gone(text: OutgoingText): void {
    this.signals--;
    this.size -= weightOf(text);
  }

  /** Empties the queue. */
  drain(): OutgoingText[] {
    const all = [
      ...(this.#ready.drain() as OutgoingText[]),
      ...this.#large.splice(0).map(({ text }) => text),
      ...[...this.#behind.values()].flat(),
    ];
    this.#behind.clear();
    this.#readySize = 0;
    this.#placed = 0;
    this.#taken = 0;
    this.#offset = 0;
    this.signals = 0;
    this.size = 0;
    return all;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
