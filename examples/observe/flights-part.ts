// The flights: each is dispatched to one of the workers, which are killed at random, and is counted exactly once.

import { type ChildSpec, supervisor } from "signalbox";
import { Chaos } from "../flights/chaos.js";
import { type Flight, readFlights } from "../flights/flights.js";
import { Ledger } from "../flights/ledger.js";
import { compare } from "../flights/totals.js";
import { newCrew, workers } from "../flights/workers.js";
import { KILLED_ON_PURPOSE, type Part, type PartOptions, rest } from "./part.js";

const WORKERS = 8;
/** Flights of a round of full size. */
const ROUND = 2_000;
const LANES = 8;
const BURST = 8;
const REST_MS = 250;
const KILL_EVERY = 500;
/** Flights between two kills are fewer in smaller rounds. */
const killEvery = (size: number): number => Math.max(10, Math.round((KILL_EVERY * size) / 100));

export async function flightsPart({ system, size }: PartOptions): Promise<Part> {
  const all = await readFlights();
  const crew = newCrew();
  const ledger = Ledger.at(system, "flights ledger");
  const chaos = Chaos.at(system, "flights chaos");
  const children: readonly ChildSpec[] = [
    { id: "ledger", name: "flights ledger", start: Ledger, args: [all.length] },
    { id: "workers", start: workers(WORKERS, crew, ledger) },
    { id: "chaos", name: "flights chaos", start: Chaos, args: [system, crew, killEvery(size), 1] },
  ];
  let next = 0;
  let reroutes = 0;
  const failures: string[] = [];

  /** Dispatches some flights at once, again and again: a worker that is killed has several of them. */
  const lane = async (end: number, ending: AbortSignal): Promise<void> => {
    while (next < end) {
      const burst = Array.from({ length: Math.min(BURST, end - next) }, () => depart(next++));
      await Promise.all(burst);
      await rest(REST_MS, ending);
    }
  };
  const depart = async (index: number): Promise<void> => {
    const dispatched = system.dispatch(crew, { index, flight: all[index] as Flight });
    chaos.cast.departed();
    try {
      reroutes += (await dispatched).reroutedFrom.length;
    } catch (error) {
      failures.push((error as Error).message);
    }
  };

  return {
    name: "flights",
    children: [{ id: "flights", start: supervisor({ ...KILLED_ON_PURPOSE, label: "flights", children }) }],
    round: async (ending) => {
      // When all flights of the file have departed, the airport is quiet.
      if (next >= all.length) return rest(1_000, ending);
      const end = Math.min(all.length, next + (ROUND * size) / 100);
      await Promise.all(Array.from({ length: LANES }, () => lane(end, ending)));
    },
    verdict: async () => {
      const { lost, duplicated, exact } = compare(all.slice(0, next), await ledger.call.account());
      const faults =
        exact && lost === 0 && duplicated === 0 ? [] : [`flights: ${lost} lost, ${duplicated} duplicated`];
      return {
        line: `flights      ${next} counted once, ${await chaos.call.kills()} kills, ${reroutes} re-routes`,
        faults: [...faults, ...failures.slice(0, 3)],
      };
    },
    close: async () => undefined,
  };
}
