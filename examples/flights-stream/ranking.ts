// The most flown routes. Each task of a window counts its own routes, and the best of all routes are among the best of
// each task. So each task sends a short ranking, and the rankings of all tasks can be merged.

/** How often a route was flown. */
export interface RouteCount {
  /** Origin and destination: `SFO-LAX`. */
  readonly route: string;
  readonly flights: number;
}

/** The best routes of some stretch of time, in order. */
export interface Ranking {
  /** Flights on all routes. */
  readonly flights: number;
  /** Number of routes with flights. */
  readonly known: number;
  readonly best: readonly RouteCount[];
}

export function routeOf({
  origin,
  destination,
}: {
  readonly origin: string;
  readonly destination: string;
}): string {
  return `${origin}-${destination}`;
}

/** Counts one more flight of a route. */
export function countOne(counts: Map<string, number>, route: string): void {
  counts.set(route, (counts.get(route) ?? 0) + 1);
}

/** Counts of routes over all windows. A window that comes again, with as many flights or more, replaces itself. */
export class Total {
  readonly counts: Map<string, number> = new Map();
  readonly #windows = new Map<number, ReadonlyMap<string, number>>();

  /** @param counts - the flights that are in no window before this one */
  set(start: number, counts: ReadonlyMap<string, number>): void {
    const before = this.#windows.get(start) ?? new Map<string, number>();
    if (sum(before) > sum(counts)) return;
    this.#windows.set(start, counts);
    for (const [route, times] of before) this.#add(route, -times);
    for (const [route, times] of counts) this.#add(route, times);
  }

  #add(route: string, times: number): void {
    const all = (this.counts.get(route) ?? 0) + times;
    if (all === 0) this.counts.delete(route);
    else this.counts.set(route, all);
  }
}

export function rank(counts: ReadonlyMap<string, number>, most: number): Ranking {
  const flights = sum(counts);
  const all = [...counts].map(([route, times]) => ({ route, flights: times }));
  return { flights, known: counts.size, best: best(all, most) };
}

/** Merges rankings that have no route in common. */
export function merge(parts: Iterable<Ranking>, most: number): Ranking {
  const all = [...parts];
  return {
    flights: all.reduce((sum, { flights }) => sum + flights, 0),
    known: all.reduce((sum, { known }) => sum + known, 0),
    best: best(
      all.flatMap((part) => part.best),
      most,
    ),
  };
}

function sum(counts: ReadonlyMap<string, number>): number {
  let all = 0;
  for (const times of counts.values()) all += times;
  return all;
}

/** Orders by flights, and equal routes by the alphabet, so that one order is right. */
function best(counts: readonly RouteCount[], most: number): readonly RouteCount[] {
  return counts
    .toSorted((one, other) => other.flights - one.flights || (one.route < other.route ? -1 : 1))
    .slice(0, most);
}
