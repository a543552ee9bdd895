// The flights for a cluster of Apache Storm:
//
//   npx signalbox storm export examples/flights-stream/storm.ts -o flights.jar --env FLIGHTS_FOLDER=/var/flights
//   npx signalbox storm submit flights.jar --storm-home /opt/storm
//
// There each task is a program of its own, so its flights and its findings are in files of the folder:
//
//   flights.json   the flights, given
//   results.log    the findings; for an hour, a window or the routes over all, the one with the most flights counts
//   done.log       the flights that are done
//
// A stream never ends under Storm, so nothing closes the last windows but flights that come later. `withLast` adds them.

import { join } from "node:path";
import type { Topology } from "signalbox/topology";
import { folderIn, Journals, readJournal } from "../wordcount/journal.js";
import { type Flight, readFlights } from "./flights.js";
import { routeOf } from "./ranking.js";
import { type HourRow, type ResultSink, Results, type RouteWindow } from "./results.js";
import { flightsStream, mostHeld, type Plan } from "./stream.js";

const HOUR_MS = 3_600_000;
export const STORM_PLAN: Plan = { windowMs: 24 * HOUR_MS, everyMs: 6 * HOUR_MS, top: 10, tasks: 2 };
/** Known before the flights are: a task learns of its topology when it starts, and the spout alone reads the file. */
const MOST_HELD = 10_000;

type Finding =
  | { readonly row: HourRow }
  | { readonly window: RouteWindow }
  | { readonly overall: Results["overall"] };

/** One more flight on each route, later than all windows. It comes to every task that has a window of this route. */
export function withLast(flights: readonly Flight[], { windowMs, everyMs }: Plan): readonly Flight[] {
  const at = (flights.at(-1)?.at ?? 0) + windowMs + everyMs + HOUR_MS;
  const routes = new Map(flights.map((flight) => [routeOf(flight), flight]));
  return [...flights, ...[...routes.values()].map((flight) => ({ ...flight, at, delay: 0 }))];
}

async function* flightsIn(folder: string): AsyncGenerator<Flight, void, undefined> {
  const flights = withLast(await readFlights(join(folder, "flights.json")), STORM_PLAN);
  const held = mostHeld(flights, STORM_PLAN);
  if (held > MOST_HELD)
    throw new Error(`windows may hold ${held} of these flights, expected at most ${MOST_HELD}`);
  yield* flights;
}

/** @param folderOf - called when a component starts; whoever only looks at the topology needs no folder */
export function stormFlights(folderOf: () => string): Topology {
  const journals = new Journals(folderOf);
  const find = (finding: Finding): void => journals.append("results.log", finding);
  const sink: ResultSink = {
    addRow: (row) => find({ row }),
    addWindow: (window) => find({ window }),
    setOverall: (overall) => find({ overall }),
    flightDone: ({ at, origin, destination }) =>
      journals.append("done.log", `${at} ${origin} ${destination}`),
    flightFailed: ({ at, origin, destination }) =>
      journals.append("failed.log", `${at} ${origin} ${destination}`),
  };
  return flightsStream(() => flightsIn(folderOf()), STORM_PLAN, sink, MOST_HELD);
}

/** The results of a run so far. */
export function stormFindings(folder: string): Results {
  const results = new Results();
  for (const finding of readJournal<Finding>(join(folder, "results.log"))) {
    if ("row" in finding) results.addRow(finding.row);
    else if ("window" in finding) results.addWindow(finding.window);
    else results.setOverall(finding.overall);
  }
  results.done = readJournal(join(folder, "done.log")).length;
  results.failed = readJournal(join(folder, "failed.log")).length;
  return results;
}

const topology: Topology = stormFlights(() => folderIn("FLIGHTS_FOLDER"));
export default topology;
