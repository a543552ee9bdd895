// What the run has to come to: a straight loop over the flights, and the comparison of the ledger with it.

import { type Flight, hourOf } from "./flights.js";
import type { Account } from "./ledger.js";

/** Sums of the flights that depart within one hour of the day. */
export interface HourTotals {
  flights: number;
  delay: number;
  distance: number;
}

/** How a ledger differs from the flights it is about. */
export interface Verdict {
  /** Flights that were never committed. */
  readonly lost: number;
  /** Commits beyond the first of a flight. */
  readonly duplicated: number;
  /** Every sum of every hour is the same, to the last bit. */
  readonly exact: boolean;
}

/** The answer without any processes. */
export function straightTotals(flights: readonly Flight[]): readonly HourTotals[] {
  const hours = emptyHours();
  for (const { delay, distance, time } of flights) add(hours, hourOf(time), 1, delay, distance);
  return hours;
}

/** The sums that the ledger comes to, in the order of the flights. */
export function ledgerTotals({ commits, hour, delay, distance }: Account): readonly HourTotals[] {
  const hours = emptyHours();
  for (const [index, times] of commits.entries()) {
    if (times > 0) add(hours, hour[index]!, times, delay[index]!, distance[index]!);
  }
  return hours;
}

export function compare(flights: readonly Flight[], account: Account): Verdict {
  let lost = 0;
  let duplicated = 0;
  for (let index = 0; index < flights.length; index++) {
    const times = account.commits[index] ?? 0;
    if (times === 0) lost++;
    else duplicated += times - 1;
  }
  const wanted = straightTotals(flights);
  const exact = ledgerTotals(account).every((found, hour) => isSame(found, wanted[hour]!));
  return { lost, duplicated, exact };
}

function emptyHours(): HourTotals[] {
  return Array.from({ length: 24 }, () => ({ flights: 0, delay: 0, distance: 0 }));
}

function add(hours: HourTotals[], hour: number, flights: number, delay: number, distance: number): void {
  const totals = hours[hour]!;
  totals.flights += flights;
  totals.delay += delay;
  totals.distance += distance;
}

/** `Object.is`: sums of absurdly large numbers overflow to infinities and NaN, the same way on both sides. */
function isSame(a: HourTotals, b: HourTotals): boolean {
  return Object.is(a.flights, b.flights) && Object.is(a.delay, b.delay) && Object.is(a.distance, b.distance);
}
