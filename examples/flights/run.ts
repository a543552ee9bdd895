// One run: the supervision tree, and every flight dispatched into it.

import { type RestartReport, System, supervisor } from "signalbox";
import { Chaos } from "./chaos.js";
import type { Flight } from "./flights.js";
import { type Account, Ledger } from "./ledger.js";
import { type Progress, type Show, screen, viewOf } from "./screen.js";
import { newCrew, workers } from "./workers.js";

export interface RunOptions {
  readonly flights: readonly Flight[];
  readonly workers: number;
  readonly killEvery: number;
  readonly seed: number;
  /** Where to show how it goes. */
  readonly show?: Show;
}

export interface RunResult extends Progress {
  readonly account: Account;
  /** Exit signals that chaos sent. */
  readonly kills: number;
  readonly elapsedMs: number;
}

/** Flights under way per worker: enough to keep it busy, and few enough that a kill re-routes a handful. */
const WINDOW_PER_WORKER = 4;

export async function run(options: RunOptions): Promise<RunResult> {
  const { flights, killEvery, seed, show } = options;
  await using system = new System({ name: "flights" });
  const started = performance.now();
  const progress: Progress = {
    flights: flights.length,
    delivered: 0,
    reroutes: 0,
    failures: [],
    crashes: new Map(),
  };
  system.events.on("restart", (restart) => note(progress, restart));

  const crew = newCrew();
  const ledger = Ledger.at(system, "ledger");
  const chaos = Chaos.at(system, "chaos");
  const root = await system.start(
    supervisor({
      label: "root",
      name: "root",
      children: [
        { id: "ledger", name: "ledger", start: Ledger, args: [flights.length] },
        { id: "workers", start: workers(options.workers, crew, ledger) },
        { id: "chaos", name: "chaos", start: Chaos, args: [system, crew, killEvery, seed] },
        ...(show === undefined ? [] : [{ id: "screen", start: screen(system, progress, show) }]),
      ],
    }),
  );

  let next = 0;
  /** Dispatches one flight after the other; so many of these run at once, and no more flights are under way. */
  const lane = async (): Promise<void> => {
    while (next < flights.length) {
      const index = next++;
      const dispatched = system.dispatch(crew, { index, flight: flights[index]! });
      chaos.cast.departed(); // after the dispatch: this flight may be hit as well, and has nobody to overtake
      try {
        const outcome = await dispatched;
        progress.delivered++;
        progress.reroutes += outcome.reroutedFrom.length;
      } catch (error) {
        progress.failures.push(error as Error);
      }
    }
  };
  await Promise.all(Array.from({ length: options.workers * WINDOW_PER_WORKER }, lane));

  await system.idle(); // the last one killed is to be restarted, and counted
  if (show !== undefined) show.show(await viewOf(system, root.pid, progress, performance.now() - started));
  const account = await ledger.call.account();
  const kills = await chaos.call.kills();
  return { ...progress, account, kills, elapsedMs: performance.now() - started };
}

function note({ crashes }: Progress, { id }: RestartReport): void {
  crashes.set(id, (crashes.get(id) ?? 0) + 1);
}
