// How much is kept of spans. Both a ring and an answer to another node have these bounds.

/** The bounds of a ring. */
export interface RingLimits {
  /** Spans that are kept. */
  readonly spans: number;
  /** Spans of one parent with the same name and kind that are kept one by one. Later ones are folded into one. */
  readonly alike: number;
  /** Attributes of one span. */
  readonly attributes: number;
  /** Characters of a name, a key, a value or an error. */
  readonly text: number;
}

export const RING_LIMITS: RingLimits = { spans: 10_000, alike: 50, attributes: 16, text: 200 };
