// Spans that nobody keeps. A busy system begins more traces than the budget lets be kept (root-budget.ts). So it is decided first whether a span is
// kept, and its events are made only if it is, or if somebody else subscribes to them. What is refused costs a mark, which all refused work shares:
// whatever follows from that work is refused, too.

import type { KeptSpan } from "../../admin/traces/span-ring.js";
import type { DispatchTap } from "../../dispatch/taps.js";
import type { CallTap, WorkTap } from "../../process/taps.js";
import type { RequestTap } from "./edges.js";
import type { MessageEnd } from "./events.js";
import type { Mark, Marker } from "./marks.js";
import type { SpanIds } from "./traceparent.js";

/** A span was refused, and all that follows from it is. */
export const REFUSED: unique symbol = Symbol("refused");

/** A span begins a trace. */
export const ROOT: unique symbol = Symbol("root");

/** A span that is kept, or one of another node or another time. */
export type KeptPlace = KeptSpan | SpanIds;

/** Where code runs: in such a span, or in one that was refused. */
export type Place = KeptPlace | typeof REFUSED;

/** What a span that is kept follows from. */
export type Parent = KeptPlace | typeof ROOT;

/** Whether a span is kept. Undefined: nobody keeps spans, or the span follows from none that is kept and begins no trace. */
export type Verdict = Parent | typeof REFUSED | undefined;

export function isKept(verdict: Verdict): verdict is Parent {
  return verdict !== undefined && verdict !== REFUSED;
}

/** The mark of all calls, casts and deliveries that are refused. */
export const REFUSED_MARK: Mark = {
  kind: "message",
  name: undefined,
  cause: undefined,
  sentAt: 0,
  verdict: "refused",
};

/** Goes into the `tap` of a call, a cast or a delivery that is refused. */
export const REFUSED_MESSAGE: Marker & CallTap = {
  isMarker: true,
  mark: REFUSED_MARK,
  ended: () => undefined,
};

/** The same for a call that is counted. */
export class RefusedCall implements Marker, CallTap {
  readonly isMarker = true;
  readonly mark: Mark = REFUSED_MARK;
  readonly ended: CallTap["ended"];

  constructor(counted: CallTap) {
    this.ended = (outcome, error) => counted.ended(outcome, error);
  }
}

/** How telemetry follows a message that a process handles. */
export interface Handling {
  /** The number of its span, if it has one. */
  readonly number: number | undefined;
  /** The keeper of spans refuses all that follows from it. */
  readonly isRefused: boolean;
  ended(outcome: MessageEnd["outcome"]): void;
}

/** A process handles a message that is refused. */
export const REFUSED_HANDLING: Handling = { number: undefined, isRefused: true, ended: () => undefined };

/** Follows a dispatch that is refused: its consumer has to know. */
export const REFUSED_DISPATCH: DispatchTap = {
  decided: () => undefined,
  delivering: (held) => {
    if ("tap" in held) held.tap = REFUSED_MESSAGE;
  },
};

/** Runs code as refused work, on a host that does not say which process runs. */
export type Refusing = <R>(run: () => R) => R;

/** A process with work that is refused. */
export interface Refuser {
  /** Pieces of work in it that the keeper of spans has refused, and that are under way. */
  refusedWork: number;
}

/** A step, an attempt or a request that is refused. Its process knows until it ends. */
export class RefusedWork implements WorkTap<string>, RequestTap {
  readonly #by: Refuser | undefined;
  readonly #refusing: Refusing | undefined;
  #isOpen = true;

  constructor(by: Refuser | undefined, refusing: Refusing | undefined) {
    this.#by = by;
    this.#refusing = refusing;
    if (by !== undefined) by.refusedWork++;
  }

  around<R>(run: () => R): R {
    return this.#refusing === undefined ? run() : this.#refusing(run);
  }

  ended(): void {
    if (this.#isOpen && this.#by !== undefined) this.#by.refusedWork--;
    this.#isOpen = false;
  }
}
