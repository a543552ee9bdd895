// The kill tests on real stores, and how their bookings are read.

import { startPostgres } from "../../support/postgres.js";
import type { StorePlace } from "../stores.js";
import { strikeHosts } from "./hosts.js";
import { type KillReport, killAgainAndAgain } from "./kills.js";
import { bookingsOf } from "./stores.js";

/** Flows that begin in each life of a host. */
const FLOWS_PER_KILL = 5;

interface RunOptions {
  readonly seed: number;
  /** What Node is given to run the child. */
  readonly child: readonly string[];
  progress?(done: number, what?: string): void;
}

export function killOnSqlite(options: RunOptions & { readonly kills: number }): Promise<KillReport> {
  return killAgainAndAgain({
    ...options,
    store: "sqlite",
    flowsPerKill: FLOWS_PER_KILL,
    bookings: bookingsOf,
  });
}

/** On a server of its own, which lives on. */
export async function killOnPostgres(options: RunOptions & { readonly kills: number }): Promise<KillReport> {
  await using server = await startPostgres({ fsync: true });
  const store: StorePlace = { type: "postgres", url: server.url };
  await bookingsOf(store);
  return await killAgainAndAgain({ ...options, store, flowsPerKill: FLOWS_PER_KILL, bookings: bookingsOf });
}

/** Two hosts on a server, and whatever can befall them. */
export async function strikePostgres(
  options: RunOptions & { readonly strikes: number },
): Promise<KillReport> {
  await using server = await startPostgres({ fsync: true });
  const place: StorePlace = { type: "postgres", url: server.url };
  // Makes the table: two sessions that make one at the same time fail, and so would their flows.
  await bookingsOf(place);
  return await strikeHosts({
    ...options,
    server,
    flowsPerStrike: FLOWS_PER_KILL,
    bookings: () => bookingsOf(place),
  });
}
