// The lists of a history, out of its rings.

import { KINDS, type RecordedIncident, type State } from "./history-machine.js";
import type { Incident, IncidentKind, Overview } from "./operations.js";

interface Filter {
  readonly kind?: IncidentKind | undefined;
  readonly pid?: string | undefined;
}

/** So many of those behind a number at most, the oldest first. */
export function listed(
  state: State,
  after: number,
  filter: Filter,
  limit: number = Number.POSITIVE_INFINITY,
): readonly Incident[] {
  return ringsOf(state, filter)
    .flatMap((ring) => {
      const found: RecordedIncident[] = [];
      for (let place = ring.firstBehind(after); place < ring.size && found.length < limit; place++) {
        const one = ring.at(place) as RecordedIncident;
        if (fits(one, filter.pid)) found.push(one);
      }
      return found;
    })
    .sort((a, b) => a.number - b.number)
    .slice(0, limit)
    .map(shownIncident);
}

/** So many at most, the newest first. */
export function latest(
  state: State,
  limit: number,
  { beforeAt = Number.POSITIVE_INFINITY, ...filter }: Filter & { readonly beforeAt?: number | undefined },
): readonly Incident[] {
  return ringsOf(state, filter)
    .flatMap((ring) => {
      const found: RecordedIncident[] = [];
      for (let place = ring.size - 1; place >= 0 && found.length < limit; place--) {
        const one = ring.at(place) as RecordedIncident;
        if (one.at < beforeAt && fits(one, filter.pid)) found.push(one);
      }
      return found;
    })
    .sort((a, b) => b.number - a.number)
    .slice(0, limit)
    .map(shownIncident);
}

/** How many there were of each kind, and within the last minute. */
export function countsOf(state: State, at: number): Overview["counts"] {
  const all = KINDS.flatMap((kind) => {
    const of = state.rings.get(kind);
    return of === undefined ? [] : [[kind, { total: of.total, minute: of.tally.minute(at) }] as const];
  });
  return Object.fromEntries(all);
}

/** The kinds of which there were more or fewer within the last minute than within the minute before. */
export function changesOf(state: State, at: number): Overview["minute"] {
  return KINDS.flatMap((what) => {
    const tally = state.rings.get(what)?.tally;
    if (tally === undefined) return [];
    const [before, now] = [tally.minute(at, 60), tally.minute(at)];
    return before === now ? [] : [{ what, before, now }];
  });
}

function ringsOf({ rings }: State, { kind }: Filter) {
  const kinds = kind === undefined ? KINDS : [kind];
  return kinds.flatMap((one) => rings.get(one)?.ring ?? []);
}

const fits = ({ detail }: RecordedIncident, pid: string | undefined): boolean =>
  pid === undefined || detail.pid === pid || detail.restart?.supervisor === pid;

const shownIncident = ({
  number,
  at,
  kind,
  count,
  lastAt,
  cause,
  linked,
  detail,
}: RecordedIncident): Incident => ({
  ...{ number, at, kind, count, lastAt },
  ...detail,
  ...(cause !== undefined && { cause }),
  ...(linked !== undefined && { linked }),
});
