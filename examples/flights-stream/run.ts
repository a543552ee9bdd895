// One run: the topology from its start to its end, with its progress at intervals.

import { System } from "signalbox";
import type { TopologyRef } from "signalbox/topology";
import type { Flight } from "./flights.js";
import { Results } from "./results.js";
import { flightsStream, mostHeld, type Plan } from "./stream.js";

export interface RunOptions extends Plan {
  readonly flights: readonly Flight[];
  /** Shows the progress. */
  readonly show?: Show;
  /** Called when the topology runs; tests break something here. */
  readonly meddle?: (running: TopologyRef, system: System, results: Results) => unknown;
}

/** The contents of the screen. */
export interface View {
  readonly flights: number;
  /** Flights in flight: emitted and not done. Windows hold most of them. */
  readonly pending: number;
  readonly elapsedMs: number;
  readonly results: Results;
}

export interface Show {
  readonly everyMs: number;
  readonly show: (view: View) => void;
}

export async function run({ flights, show, meddle, ...plan }: RunOptions): Promise<Results> {
  await using system = new System({ name: "flights" });
  const results = new Results();
  const running = await system.start(flightsStream(flights, plan, results, mostHeld(flights, plan)));
  const over = new AbortController();
  meddle?.(running, system, results);
  const finish = async (): Promise<void> => {
    await running.finished();
    over.abort();
  };
  await Promise.all([finish(), show && watch(running, flights.length, results, show, over.signal)]);
  await running.stop();
  return results;
}

async function watch(
  running: TopologyRef,
  flights: number,
  results: Results,
  { everyMs, show }: Show,
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { components, uptimeMs } of running.watch({ everyMs, signal })) {
      const pending = components.find(({ name }) => name === "flights")?.pending ?? 0;
      show({ flights, pending, elapsedMs: uptimeMs, results });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
