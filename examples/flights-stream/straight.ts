// The expected results: a plain loop over the flights, window by window, and the comparison with it.

import { isDeepStrictEqual } from "node:util";
import type { Flight } from "./flights.js";
import { type Ranking, routeOf } from "./ranking.js";
import { type Answer, type HourRow, type RouteWindow, rowKey } from "./results.js";
import type { Plan } from "./stream.js";

const HOUR_MS = 3_600_000;

/** The expected results, computed without processes. The flights are sorted by date. */
export function straightAnswer(flights: readonly Flight[], { windowMs, everyMs, top }: Plan): Answer {
  const rows = new Map<string, HourRow>();
  for (const { at, origin, delay } of flights) {
    const hour = Math.floor(at / HOUR_MS) * HOUR_MS;
    const row = rows.get(rowKey({ hour, origin })) ?? { hour, origin, flights: 0, delay: 0 };
    rows.set(rowKey(row), { ...row, flights: row.flights + 1, delay: row.delay + delay });
  }

  const windows = new Map<number, RouteWindow>();
  const last = flights.at(-1)?.at ?? Number.NEGATIVE_INFINITY;
  const firstEnd = (flights[0]?.at ?? 0) - windowMs;
  for (let start = Math.floor(firstEnd / everyMs) * everyMs; start <= last; start += everyMs) {
    const end = start + windowMs;
    const within = flights.filter(({ at }) => at >= start && at < end);
    if (within.length > 0) windows.set(start, { start, end, ...ranking(within, top) });
  }
  return { rows, windows, overall: ranking(flights, top) };
}

function ranking(flights: readonly Flight[], top: number): Ranking {
  const names = flights.map(routeOf).sort();
  const known = [...new Set(names)];
  const counts = new Map<string, number>(known.map((route) => [route, 0]));
  for (const route of names) counts.set(route, counts.get(route)! + 1);
  // The names are sorted, and this sort is stable.
  const sorted = known
    .map((route) => ({ route, flights: counts.get(route)! }))
    .sort((a, b) => b.flights - a.flights);
  return { flights: flights.length, known: known.length, best: sorted.slice(0, top) };
}

/** One text for each kind of mistake in the results; empty when all are right. */
export function differences(found: Answer, wanted: Answer): readonly string[] {
  return [
    ...compareMaps("hours of an airport", found.rows, wanted.rows),
    ...compareMaps("windows of routes", found.windows, wanted.windows),
    ...(isDeepStrictEqual(found.overall, wanted.overall) ? [] : ["routes over all: wrong"]),
  ];
}

function compareMaps<K>(
  what: string,
  found: ReadonlyMap<K, unknown>,
  wanted: ReadonlyMap<K, unknown>,
): string[] {
  const keys = [...wanted.keys()];
  const counts = {
    missing: keys.filter((key) => !found.has(key)).length,
    wrong: keys.filter((key) => found.has(key) && !isDeepStrictEqual(found.get(key), wanted.get(key))).length,
    "too many": [...found.keys()].filter((key) => !wanted.has(key)).length,
  };
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([how, count]) => `${what}: ${count} ${how}`);
}
