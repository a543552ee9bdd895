// The results of the windows.

import type { Flight } from "./flights.js";
import type { Ranking } from "./ranking.js";

/** The departures from one airport within one hour. */
export interface HourRow {
  /** Start of the hour in milliseconds. */
  readonly hour: number;
  readonly origin: string;
  readonly flights: number;
  /** Minutes of delay of all these flights together. */
  readonly delay: number;
}

/** The routes of one window. */
export interface RouteWindow extends Ranking {
  readonly start: number;
  readonly end: number;
}

/** All results for a file of flights. */
export interface Answer {
  /** By {@link rowKey}. */
  readonly rows: ReadonlyMap<string, HourRow>;
  /** By the start of the window. */
  readonly windows: ReadonlyMap<number, RouteWindow>;
  /** Routes since the first flight. */
  readonly overall: Ranking;
}

/** Where the topology sends its results. A result that was made of more flights replaces the one before. */
export interface ResultSink {
  addRow(row: HourRow): void;
  addWindow(window: RouteWindow): void;
  setOverall(overall: Ranking): void;
  /** All windows of a flight were handed over, or the flight has failed for good. */
  flightDone(flight: Flight): void;
  flightFailed(flight: Flight): void;
}

/**
 * Results are set, never added up. So a result that comes twice, because a tuple was retried on its way, has the same
 * effect as one that comes once. The fullest result counts, not the last one: a program that has lost its state may have
 * only those flights of a window that come again.
 */
export class Results implements Answer, ResultSink {
  readonly rows: Map<string, HourRow> = new Map();
  readonly windows: Map<number, RouteWindow> = new Map();
  overall: Ranking = { flights: 0, known: 0, best: [] };
  /** The last hour that was handed over; undefined before the first. */
  hour: number | undefined = undefined;
  /** Flights whose windows were all handed over, and flights that failed for good. */
  done = 0;
  failed = 0;

  addRow(row: HourRow): void {
    const key = rowKey(row);
    this.rows.set(key, fuller(this.rows.get(key), row));
    this.hour = Math.max(this.hour ?? row.hour, row.hour);
  }

  addWindow(window: RouteWindow): void {
    this.windows.set(window.start, fuller(this.windows.get(window.start), window));
  }

  setOverall(overall: Ranking): void {
    this.overall = fuller(this.overall, overall);
  }

  flightDone(_flight: Flight): void {
    this.done++;
  }

  flightFailed(_flight: Flight): void {
    this.failed++;
  }
}

/** The result that was made of more flights; the later one of two that are equal. */
export function fuller<T extends { readonly flights: number }>(before: T | undefined, now: T): T {
  return before !== undefined && before.flights > now.flights ? before : now;
}

export function rowKey({ hour, origin }: Pick<HourRow, "hour" | "origin">): string {
  return `${hour} ${origin}`;
}

/** Flights and minutes of delay. */
export interface Sums {
  flights: number;
  delay: number;
}

/** Sums of rows with a common property. */
export function sumBy<K>(rows: Iterable<HourRow>, keyOf: (row: HourRow) => K): Map<K, Sums> {
  const sums = new Map<K, Sums>();
  for (const row of rows) {
    const key = keyOf(row);
    const sum = sums.get(key) ?? { flights: 0, delay: 0 };
    sums.set(key, { flights: sum.flights + row.flights, delay: sum.delay + row.delay });
  }
  return sums;
}

export function meanOf({ flights, delay }: Sums): number {
  return delay / flights;
}

/** Mean delay by hour of the day, 24 of them; undefined where nothing departed. */
export function meansOfDay(rows: Iterable<HourRow>): readonly (number | undefined)[] {
  const sums = sumBy(rows, ({ hour }) => new Date(hour).getUTCHours());
  return Array.from({ length: 24 }, (_, hour) => {
    const sum = sums.get(hour);
    return sum === undefined ? undefined : meanOf(sum);
  });
}
