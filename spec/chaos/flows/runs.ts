// The kill tests on real stores, and how their bookings are read.

import { startPostgres } from "../../support/postgres.js";
import type { StorePlace } from "../stores.js";
import { strikeHosts } from "./hosts.js";
import { type KillReport, killAgainAndAgain } from "./kills.js";
import { bookingsOf } from "./stores.js";

/** Flows that begin in each life of a host. */
const FLOWS_PER_KILL = 5;

interface RunOptions {
  readonly kills: number;
  /** Default 0. */
  readonly stops?: number;
  readonly seed: number;
  /** What Node is given to run the child. */
  readonly child: readonly string[];
  progress?(done: number, what?: string): void;
}

interface ServerOptions extends RunOptions {
  /** Restarts of the server. Default 0. */
  readonly restarts?: number;
  /** Default: the store's own. */
  readonly leaseMs?: number | undefined;
}

export function killOnSqlite(options: RunOptions): Promise<KillReport> {
  return killAgainAndAgain({
    ...options,
    store: "sqlite",
    flowsPerKill: FLOWS_PER_KILL,
    bookings: bookingsOf,
  });
}

/** On a server of its own. */
export async function killOnPostgres(options: ServerOptions): Promise<KillReport> {
  await using server = await startPostgres({ fsync: true });
  const store: StorePlace = { type: "postgres", url: server.url };
  await bookingsOf(store);
  const own = { server, store, flowsPerKill: FLOWS_PER_KILL, bookings: bookingsOf };
  return await killAgainAndAgain({ ...options, ...own });
}

/** Several hosts on a server, and whatever can befall them. */
export async function strikePostgres(
  options: ServerOptions & { readonly hosts: number; readonly cuts: number },
): Promise<KillReport> {
  await using server = await startPostgres({ fsync: true });
  const place: StorePlace = { type: "postgres", url: server.url };
  // Makes the table: two sessions that make one at the same time fail, and so would their flows.
  await bookingsOf(place);
  const { stops = 0, restarts = 0, leaseMs, ...rest } = options;
  return await strikeHosts({
    ...rest,
    ...{ stops, restarts, leaseMs, server },
    flowsPerStrike: FLOWS_PER_KILL,
    bookings: () => bookingsOf(place),
  });
}
