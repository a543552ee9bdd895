// The topology. Every flight goes to two kinds of windows. A flight is done when its last window has been handed over and
// the result of that window has arrived:
//
//   flights ─┬─ by origin ─▶ hours  (tumbling, an hour) ─ rows ──────────────▶ results
//            └─ by route ──▶ routes (sliding, a day) ── parts ─▶ top ─ windows, overall ─▶ results
//
// Time is the time of the flights, not of a clock: a window ends when a flight comes that is past its end. Each task of a
// window bolt goes by its own flights, so one task may be in March while another is still in February. That does no harm,
// because no two tasks have an airport or a route in common: one task makes a row alone, and `top` merges the parts of a
// window's routes as they come.
//
// run.ts runs it in one program, storm.ts has it for a cluster of Apache Storm.
//
// A crash of a window task does no harm either: its flights are retried, and get into the windows that were not handed
// over yet.

import {
  bolt,
  field,
  grouping,
  sliding,
  spoutFrom,
  type Topology,
  topology,
  tumbling,
  windowBolt,
} from "signalbox/topology";
import type { Flight } from "./flights.js";
import { countOne, merge, type Ranking, type RouteCount, rank, routeOf, Total } from "./ranking.js";
import { fuller, type ResultSink, type Sums } from "./results.js";

export interface Plan {
  /** Routes are counted over `ms` milliseconds, at each multiple of `everyMs`. */
  readonly windowMs: number;
  readonly everyMs: number;
  /** Routes in a ranking. */
  readonly top: number;
  /** Tasks of each window bolt. */
  readonly tasks: number;
}

const HOUR_MS = 3_600_000;

const FLIGHT = { at: field.number, delay: field.number, origin: field.text, destination: field.text };
const ROW = { hour: field.number, origin: field.text, flights: field.number, delay: field.number };
const RANKING = { flights: field.number, known: field.number, best: field.of<readonly RouteCount[]>() };
const WINDOW = { start: field.number, end: field.number, ...RANKING };
const PART = {
  start: field.number,
  end: field.number,
  window: field.of<Ranking>(),
  overall: field.of<Ranking>(),
};

const timeOf = ({ at }: { readonly at: number }): number => at;

/** The flights in order of date, or a function that reads them when the spout starts. */
export type FlightSource = Iterable<Flight> | (() => AsyncIterable<Flight>);

/**
 * The topology of a run. It sends its findings to `results`.
 *
 * @param held - the flights that windows may hold back at the same time; see {@link mostHeld}
 */
export function flightsStream(
  flights: FlightSource,
  plan: Plan,
  results: ResultSink,
  held: number,
): Topology {
  // One task emits all flights, so they come in order, and no window has to wait for stragglers (`lagMs`). Of several
  // tasks each would take the next flight when it has room, and one flight could overtake another by any time.
  const source = spoutFrom(flights, {
    fields: FLIGHT,
    ack: (flight) => results.flightDone(flight),
    fail: (flight) => results.flightFailed(flight),
  });

  const hours = windowBolt({
    input: FLIGHT,
    streams: { rows: ROW },
    window: tumbling({ ms: HOUR_MS, by: timeOf }),
    maxHeld: held,
    execute: ({ tuples, start }, { emit }) => {
      const sums = new Map<string, Sums>();
      for (const { values } of tuples) {
        const { flights, delay } = sums.get(values.origin) ?? { flights: 0, delay: 0 };
        sums.set(values.origin, { flights: flights + 1, delay: delay + values.delay });
      }
      for (const [origin, sum] of sums) emit.rows({ hour: start, origin, ...sum });
    },
  });

  const routes = windowBolt({
    input: FLIGHT,
    streams: { parts: PART },
    window: sliding({ ms: plan.windowMs, everyMs: plan.everyMs, by: timeOf }),
    maxHeld: held,
    // A task that crashes loses its state. So the sum of all windows is kept in `shared`, where the next task finds it.
    init: ({ shared, index }) => {
      const overall = (shared.get(index) ?? new Total()) as Total;
      shared.set(index, overall);
      return overall;
    },
    execute: ({ tuples, start, end }, { emit, state }) => {
      const counts = new Map<string, number>();
      const fresh = new Map<string, number>();
      for (const { values } of tuples) {
        countOne(counts, routeOf(values));
        // A flight is in several windows. The first of them ends with the slide that has the flight.
        if (values.at >= end - plan.everyMs) countOne(fresh, routeOf(values));
      }
      state.set(start, fresh);
      emit.parts({ start, end, window: rank(counts, plan.top), overall: rank(state.counts, plan.top) });
    },
  });

  const top = bolt({
    input: PART,
    streams: { windows: WINDOW, overall: RANKING },
    init: () => ({ windows: new Map<number, Map<number, Ranking>>(), overall: new Map<number, Ranking>() }),
    execute: ({ values, task }, { emit, state }) => {
      const { start, end, window, overall } = values;
      // Parts are stored by their sending task, so a part that comes again replaces itself.
      const parts = state.windows.get(start) ?? new Map<number, Ranking>();
      state.windows.set(start, parts.set(task, fuller(parts.get(task), window)));
      state.overall.set(task, fuller(state.overall.get(task), overall));
      emit.windows({ start, end, ...merge(parts.values(), plan.top) });
      emit.overall(merge(state.overall.values(), plan.top));
    },
  });

  const sink = bolt({
    inputs: { rows: ROW, windows: WINDOW, overall: RANKING },
    execute: (tuple) => {
      if (tuple.stream === "rows") results.addRow(tuple.values);
      else if (tuple.stream === "windows") results.addWindow(tuple.values);
      else results.setOverall(tuple.values);
    },
  });

  const { tasks } = plan;
  // No clock delays a window: held flights only wait for the next flights, which come at once.
  // A crash of a window task fails all of its held flights, and several crashes may hit one flight.
  return topology("flights-stream", { messageTimeoutMs: 600_000, retries: 100 })
    .spout("flights", source, { maxPending: held + 1 })
    .bolt("hours", hours, { tasks, from: { "flights.items": grouping.fields("origin") } })
    .bolt("routes", routes, { tasks, from: { "flights.items": grouping.fields("origin", "destination") } })
    .bolt("top", top, { from: { "routes.parts": grouping.global() } })
    .bolt("results", sink, {
      from: {
        "hours.rows": grouping.global(),
        "top.windows": grouping.global(),
        "top.overall": grouping.global(),
      },
    })
    .build();
}

/**
 * The flights that windows may hold back at the same time. A held flight is pending at its spout, so `maxPending` has to
 * be larger. Otherwise all pending flights are held, the flight that would end a window is never emitted, and nothing
 * moves.
 *
 * A task holds the flights of less than one window before its latest flight: the flights of an hour, or of a day. The
 * tasks need not be at the same day, so each may be at the busiest one.
 */
export function mostHeld(flights: readonly Flight[], { windowMs, tasks }: Plan): number {
  return tasks * (mostWithin(flights, HOUR_MS) + mostWithin(flights, windowMs));
}

/** The most flights within any stretch of time of this length. */
function mostWithin(flights: readonly Flight[], ms: number): number {
  let most = 1;
  let first = 0;
  for (let last = 0; last < flights.length; last++) {
    while (flights[first]!.at <= flights[last]!.at - ms) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
