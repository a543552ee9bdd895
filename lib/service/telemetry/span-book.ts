// The book of the spans that are kept: it gives each span of telemetry its place in a trace, and writes it into the ring.
//
// A span follows from another one, or from none and begins a trace. Which spans are kept is decided before they come here (span-gate.ts).

import type { SpanAttributes } from "../../admin/traces/span-ring.js";
import { type KeptSpan, SpanRing } from "../../admin/traces/span-ring.js";
import type { SpanKind } from "../../admin/traces/trace-operations.js";
import type { KeptPlace } from "./refused.js";
import type { SpanIds } from "./traceparent.js";

/** A span to keep. */
export interface SpanDraft {
  readonly name: string;
  readonly kind: SpanKind;
  /** What it follows from. Undefined: it begins a trace. */
  readonly parent: KeptPlace | undefined;
  readonly pid?: string | undefined;
  readonly attributes: SpanAttributes;
}

/** The place that a tracer of the user gave to a span. */
export interface TracedIds extends SpanIds {
  readonly parent: string | undefined;
}

/** What the book needs of the world. */
export interface BookWorld {
  /** Milliseconds since 1970. */
  wallTime(): number;
  /** 0 to 1. */
  random(): number;
  /** Tells nodes apart. */
  readonly node: string;
}

/** The latest numbers that are remembered: of ended spans, and of spans of other nodes. A power of two. */
const REMEMBERED = 16_384;

/** A draft that waits for the ids of the user's tracer, which come in the same turn. */
interface Waiting {
  readonly number: number;
  readonly draft: SpanDraft;
  readonly at: number;
  /** A span without length has ended already. */
  ended: BookEnd | undefined;
}

/** How a span ends. */
export interface BookEnd {
  readonly tookMs: number;
  readonly error: string | undefined;
  readonly attributes?: SpanAttributes;
  /** Nothing can follow from it any more. */
  readonly isOver?: boolean;
}

export class SpanBook {
  readonly ring: SpanRing = new SpanRing();
  readonly #world: BookWorld;
  readonly #open = new Map<number, KeptSpan>();
  readonly #places = new Recent<KeptPlace>(REMEMBERED);
  /** The first half of all ids of traces that begin here. */
  readonly #begin: string;
  #lastTrace = 0;
  #lastId = 0;
  #waiting: Waiting | undefined = undefined;
  #traced: (TracedIds & { readonly number: number }) | undefined = undefined;
  /** Whether the user's tracer gives ids. */
  isTraced: () => boolean = () => false;
  /** Called when a span has ended, or is forgotten while it is open. */
  onEnd: (span: KeptSpan) => void = () => undefined;

  constructor(world: BookWorld) {
    this.#world = world;
    this.#begin = hex(word(world)) + hex(word(world));
  }

  /** The place of a span by its number. Undefined: telemetry began it before this book, or it has none. */
  placeOf(number: number | undefined): KeptPlace | undefined {
    if (number === undefined) return undefined;
    this.#settle();
    return this.#open.get(number) ?? this.#places.get(number);
  }

  begin(number: number, draft: SpanDraft): void {
    this.#settle();
    this.#waiting = { number, draft, at: this.#world.wallTime(), ended: undefined };
    // The user's tracer makes its span of the same event, before or after this.
    if (!this.isTraced() || this.#traced?.number === number) this.#settle();
  }

  /** The tracer of the user has made a span of this number. */
  traced(number: number, ids: TracedIds): void {
    this.#traced = { number, ...ids };
    if (this.#waiting?.number === number) this.#settle();
  }

  end(number: number, ended: BookEnd): void {
    if (this.#waiting?.number === number) {
      this.#waiting.ended = ended;
      return;
    }
    this.#settle();
    this.#end(number, ended);
  }

  rename(number: number, name: string): void {
    const place = this.placeOf(number);
    if (place !== undefined && "attributes" in place) this.ring.rename(place, name);
  }

  /** A span without length, below a place. Undefined where that is not kept. */
  point(draft: SpanDraft, error?: string): KeptSpan | undefined {
    this.#settle();
    const { parent } = draft;
    if (parent === undefined) return undefined;
    const span = this.#keep(draft, { trace: parent.trace, id: this.#nextId() }, this.#world.wallTime());
    this.ring.end(span, { tookMs: 0, error });
    return span;
  }

  /** A number stands for a span of another node. */
  adopt(number: number, ids: SpanIds): void {
    this.#places.add(number, ids);
  }

  #end(number: number, { tookMs, error, attributes = {}, isOver = false }: BookEnd): void {
    const span = this.#open.get(number);
    if (span === undefined) return;
    this.#open.delete(number);
    this.ring.end(span, { tookMs, error, attributes });
    if (!isOver) this.#places.add(number, span);
    if (span.open === 0) this.onEnd(span);
  }

  /** Writes the span that waits. */
  #settle(): void {
    const waiting = this.#waiting;
    if (waiting === undefined) return;
    this.#waiting = undefined;
    const { number, draft, at, ended } = waiting;
    const { parent } = draft;
    const traced = this.#traced?.number === number ? this.#traced : undefined;
    const ids = traced ?? { trace: parent?.trace ?? this.#newTrace(), id: this.#nextId() };
    const span = this.#keep(draft, ids, at, traced?.parent);
    // The ring may have no room for a span any more that is still open: the oldest ones are forgotten.
    if (this.#open.size >= REMEMBERED) this.#forget(this.#open.keys().next().value as number);
    this.#open.set(number, span);
    if (ended !== undefined) this.#end(number, ended);
  }

  #forget(number: number): void {
    const span = this.#open.get(number) as KeptSpan;
    this.#open.delete(number);
    this.onEnd(span);
  }

  #keep(
    { name, kind, parent, pid, attributes }: SpanDraft,
    ids: SpanIds,
    at: number,
    other?: string,
  ): KeptSpan {
    const { trace, id } = ids;
    // The user's own spans in between are not kept here, so the nearest one that is kept is the parent.
    const own = parent?.trace === trace ? parent.id : undefined;
    return this.ring.begin({ trace, id, parent: own ?? other, name, kind, at, pid, attributes });
  }

  #newTrace(): string {
    return this.#begin + hex(Math.floor(++this.#lastTrace / 2 ** 32)) + hex(this.#lastTrace);
  }

  #nextId(): string {
    return this.#begin.slice(0, 8) + hex(++this.#lastId);
  }
}

/** 32 random bits that are not all zero: an id of zeros is none. */
const word = ({ random }: BookWorld): number => Math.floor(random() * 2 ** 32) || 1;

const hex = (bits: number): string => (bits >>> 0).toString(16).padStart(8, "0");

/** The most recent values by number. Each number has its place. */
class Recent<V> {
  readonly #mask: number;
  readonly #numbers: Float64Array;
  readonly #values: (V | undefined)[];

  constructor(size: number) {
    this.#mask = size - 1;
    this.#numbers = new Float64Array(size);
    this.#values = new Array<V | undefined>(size).fill(undefined);
  }

  add(number: number, value: V): void {
    const place = number & this.#mask;
    this.#numbers[place] = number;
    this.#values[place] = value;
  }

  get(number: number): V | undefined {
    const place = number & this.#mask;
    return this.#numbers[place] === number ? this.#values[place] : undefined;
  }
}
