// Page 06 of the course, intensity: the smallest intensity for a failure rate.

export interface FailureRate {
  /** Children under the supervisor. */
  readonly children: number;
  /** Failures of one child in an hour, on average. */
  readonly failuresPerHour: number;
  readonly periodMs: number;
  /** How often in a year the supervisor may give up by accident. */
  readonly giveUpsPerYear: number;
}

const HOUR_MS = 3_600_000;
const HOURS_PER_YEAR = 365 * 24;

/**
 * The chance that at least `intensity` independent failures fall into a period that holds `m` on average. It adds up the small terms, not
 * 1 minus the large ones: the difference of two numbers near 1 has few correct digits.
 */
export function chanceOfGivingUp(m: number, intensity: number): number {
  let term = Math.exp(-m);
  for (let k = 1; k <= intensity; k++) term *= m / k;
  let chance = 0;
  for (let k = intensity; chance + term > chance; k++) {
    chance += term;
    term *= m / (k + 1);
  }
  return chance;
}

/** The smallest intensity with which the supervisor gives up at most that often. */
export function intensityFor({ children, failuresPerHour, periodMs, giveUpsPerYear }: FailureRate): number {
  const perHour = children * failuresPerHour;
  const m = (perHour * periodMs) / HOUR_MS;
  let intensity = 0;
  while (chanceOfGivingUp(m, intensity) * perHour * HOURS_PER_YEAR > giveUpsPerYear) intensity++;
  return intensity;
}

if (import.meta.filename === process.argv[1]) {
  for (const periodMs of [60_000, 5_000]) {
    const counters = { children: 20, failuresPerHour: 1, periodMs, giveUpsPerYear: 1 };
    console.log(`${periodMs} ms: intensity ${intensityFor(counters)}`);
  }
}
