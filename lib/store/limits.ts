// Every limit of a store, with its name and default, in one table.

import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";

/** The limits of one store. Durations are milliseconds. */
export interface StoreLimits {
  /** Most write sets in a group. */
  readonly groupSets: number;
  /** Most writes in a group; a set that alone has more is a group of its own. */
  readonly groupWrites: number;
  /** Most bytes in a group; a set that alone has more is a group of its own. */
  readonly groupBytes: number;
  /** Groups shrink until a group holds the event loop for about this long, and grow again while it takes less. */
  readonly groupMs: number;
  /** How often a group is tried that fails for a reason that passes, such as a deadlock. */
  readonly groupAttempts: number;
  /** The wait before the first repetition of a group. Each further wait is twice as long … */
  readonly retryMinMs: number;
  /** … and at most this long. */
  readonly retryMaxMs: number;
  /** Most bytes of write sets that wait for their group. More are refused with {@link StoreOverloadedError}. */
  readonly queuedBytes: number;
  /** Most bytes of one write set. */
  readonly setBytes: number;
  /** Rows of a scan that states no limit. */
  readonly scanRows: number;
  /** Most rows of a scan. */
  readonly scanMostRows: number;
  /** How long a claim holds without renewal, unless it says otherwise. It is renewed three times as often. */
  readonly claimTtlMs: number;
  /** How often {@link transact} runs its body when other writers are faster. */
  readonly transactAttempts: number;
  /** The wait before the second attempt of {@link transact}. Each further wait is twice as long … */
  readonly transactMinMs: number;
  /** … and at most this long. */
  readonly transactMaxMs: number;
}

/** The default of every limit of a store. */
export const STORE_DEFAULTS: StoreLimits = {
  groupSets: 8_192,
  groupWrites: 16_384,
  groupBytes: 8 * 1024 * 1024,
  groupMs: 10,
  groupAttempts: 10,
  retryMinMs: 2,
  retryMaxMs: 1_000,
  queuedBytes: 64 * 1024 * 1024,
  setBytes: 32 * 1024 * 1024,
  scanRows: 1_000,
  scanMostRows: 100_000,
  claimTtlMs: 15_000,
  transactAttempts: 10,
  transactMinMs: 1,
  transactMaxMs: 100,
};

/** The limits of a store that sets some of them. @throws OptionError */
export function storeLimits(given: Partial<StoreLimits> = {}): StoreLimits {
  only("limits", given, Object.keys(STORE_DEFAULTS));
  for (const [name, value] of Object.entries(given))
    if (!(typeof value === "number" && value > 0 && Number.isFinite(value)))
      throw new OptionError(`limits.${name}`, value, "a number above 0");
  return { ...STORE_DEFAULTS, ...given };
}
