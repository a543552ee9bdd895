// Every limit of an observer, in one table.

import type { FeedLimits } from "./feed-state.js";

/** The limits of an observer. */
export interface ObserverLimits extends FeedLimits {
  /** Most bytes of a request. */
  readonly bodyBytes: number;
  /** Most operations that are asked for at a time beside those of views. */
  readonly asks: number;
  /** How long an operation that changes something may take, in milliseconds. */
  readonly actionMs: number;
}

export const OBSERVER_LIMITS: ObserverLimits = {
  viewers: 32,
  viewsOfOne: 16,
  views: 64,
  polls: 4,
  // Longer than a request waits for an outcome.
  pollMs: 15_000,
  heartbeatMs: 15_000,
  stalledMs: 60_000,
  bodyBytes: 65_536,
  asks: 32,
  actionMs: 60_000,
};

/** How often a second a view may be asked for. */
export const VIEW_HZ = { least: 1, most: 4 } as const;
