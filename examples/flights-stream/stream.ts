// The topology. Every flight goes to two kinds of windows, and is done when the last window with it has been handed over
// and what that came to has arrived:
//
//   flights ─┬─ by origin ─▶ hours  (tumbling, an hour) ─ rows ──────────────▶ results
//            └─ by route ──▶ routes (sliding, a day) ── parts ─▶ top ─ windows, overall ─▶ results
//
// Time is that of the flights, not of a clock: a window ends when a flight comes that is past its end. Each task of a
// window bolt goes by the flights that it was given itself, so one may be in March while another is still in February.
// That does no harm, as no two of them have an airport, or a route, in common: a row is the work of one task, and the
// routes of a window come in parts, which `top` puts together as they come.
//
// A window task that crashes does no harm either: its flights are tried again, and come into the windows that were not
// handed over yet.

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
import { countOne, merge, type Ranking, type RouteCount, rank, routeOf } from "./ranking.js";
import type { Results, Sums } from "./results.js";

export interface Plan {
  /** Routes are counted over so many milliseconds, at each multiple of `everyMs`. */
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

/** The topology of a run, which puts what it finds into `results`. */
export function flightsStream(flights: readonly Flight[], plan: Plan, results: Results): Topology {
  const held = mostHeld(flights, plan);

  // One task emits them, and so they come in order, and no window needs to wait for stragglers (`lagMs`). With several
  // tasks, each would take the next flight when it has room, and nobody could say by how much one overtakes another.
  const source = spoutFrom(flights, {
    fields: FLIGHT,
    ack: () => {
      results.done++;
    },
    fail: () => {
      results.failed++;
    },
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
    // A task that crashes loses its state. What all windows so far have come to is kept where the next one finds it.
    init: ({ shared, index }) => {
      const overall = (shared.get(index) ?? new Map()) as Map<string, number>;
      shared.set(index, overall);
      return overall;
    },
    execute: ({ tuples, start, end }, { emit, state }) => {
      const counts = new Map<string, number>();
      for (const { values } of tuples) {
        countOne(counts, routeOf(values));
        // A flight is in several windows. The first of them ends with the slide that has the flight.
        if (values.at >= end - plan.everyMs) countOne(state, routeOf(values));
      }
      emit.parts({ start, end, window: rank(counts, plan.top), overall: rank(state, plan.top) });
    },
  });

  const top = bolt({
    input: PART,
    streams: { windows: WINDOW, overall: RANKING },
    init: () => ({ windows: new Map<number, Map<number, Ranking>>(), overall: new Map<number, Ranking>() }),
    execute: ({ values, task }, { emit, state }) => {
      const { start, end, window, overall } = values;
      // Kept under the task that sent it, a part that comes again takes its own place.
      const parts = state.windows.get(start) ?? new Map<number, Ranking>();
      state.windows.set(start, parts.set(task, window));
      state.overall.set(task, overall);
      emit.windows({ start, end, ...merge(parts.values(), plan.top) });
      emit.overall(merge(state.overall.values(), plan.top));
    },
  });

  const sink = bolt({
    inputs: { rows: ROW, windows: WINDOW, overall: RANKING },
    execute: (tuple) => {
      if (tuple.stream === "rows") results.addRow(tuple.values);
      else if (tuple.stream === "windows") results.addWindow(tuple.values);
      else results.overall = tuple.values;
    },
  });

  const { tasks } = plan;
  // No window is late by the clock: what is held waits for the flights that come next, and they come at once.
  // A crash of a window task fails all that it holds: a flight may meet with several.
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
 * be larger: else all that is allowed is held, the flight that would end a window is never emitted, and nothing moves.
 *
 * A task holds what is younger by less than a window than the last flight that it was given. That is an hour's flights,
 * or a day's; and as the tasks need not be at the same day, each may be at the busiest.
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
