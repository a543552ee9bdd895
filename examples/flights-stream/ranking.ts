// The most flown routes. Each task of a window counts routes of its own, and the best of all are among the best of each:
// so what a task says is short, and can be put together with what the others say.

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
  /** Routes that were flown at all. */
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

export function rank(counts: ReadonlyMap<string, number>, most: number): Ranking {
  let flights = 0;
  for (const times of counts.values()) flights += times;
  const all = [...counts].map(([route, times]) => ({ route, flights: times }));
  return { flights, known: counts.size, best: best(all, most) };
}

/** Puts rankings together that have no route in common. */
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

/** Of routes with as many flights, the first of the alphabet: so there is one right order. */
function best(counts: readonly RouteCount[], most: number): readonly RouteCount[] {
  return counts
    .toSorted((one, other) => other.flights - one.flights || (one.route < other.route ? -1 : 1))
    .slice(0, most);
}
