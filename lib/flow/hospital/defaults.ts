// Every limit of the hospital, with its name and default, in one table.

/** When a flow that was discharged before runs again. */
export interface HospitalBackoff {
  /** The wait before the first retry at a suspension, in milliseconds, 0 or more. */
  readonly firstMs: number;
  /** The shortest wait before later retries. */
  readonly minMs: number;
  /** The longest wait, at least `minMs`. */
  readonly maxMs: number;
  /** How many times as long each wait may be as the one before, 1 or more. */
  readonly factor: number;
}

/** The limits of a hospital. Durations are milliseconds. */
export interface HospitalLimits {
  /** The waits before discharges. */
  readonly backoff: HospitalBackoff;
  /** After so many discharges without progress, a flow is observed, even if the staff would discharge it. */
  readonly maxDischarges: number;
  /** How many flows the hospital remembers. Those under observation are in the store in any case. */
  readonly maxFlows: number;
  /** How many visits of one flow are remembered. */
  readonly maxVisits: number;
  /** How often the program may die with evidence against a flow that makes no progress, before the flow is kept for a while. */
  readonly maxCrashes: number;
}

/** The default of every limit of a hospital. The backoff is Corda's. */
export const HOSPITAL_DEFAULTS: HospitalLimits = {
  backoff: { firstMs: 0, minMs: 10_000, maxMs: 120_000, factor: 1.5 },
  maxDischarges: 1_000,
  maxFlows: 10_000,
  maxVisits: 10,
  maxCrashes: 3,
};

/**
 * How long a flow waits before its next retry.
 *
 * @param discharges - how often it was discharged at this suspension before
 * @param random - a number in [0, 1)
 */
export function visitWaitMs(backoff: HospitalBackoff, discharges: number, random: number): number {
  const { firstMs, minMs, maxMs, factor } = backoff;
  if (discharges === 0) return firstMs;
  // Both are limited before the product: random * Infinity is not a number when random is 0.
  const spread = Math.min(maxMs - minMs, (minMs * factor ** Math.min(discharges, 64)) / 2);
  return Math.max(minMs, minMs + random * spread);
}
