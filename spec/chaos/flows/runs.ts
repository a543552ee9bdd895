// The kill tests on real stores, and how their bookings are read.

import { startPostgres } from "../../support/postgres.js";
import type { StorePlace } from "../stores.js";
import { strikeHosts } from "./hosts.js";
import { type KillReport, killAgainAndAgain } from "./kills.js";
import { bookingsOf, faultsOfAccounts, makeAccounts } from "./stores.js";

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
  options: ServerOptions & {
    readonly hosts: number;
    readonly cuts: number;
    /** Between how many accounts flows move money. Default 0: random programs run instead. */
    readonly accounts?: number;
    /** How many loops without end keep the machine busy. Default 0. */
    readonly busy?: number;
  },
): Promise<KillReport> {
  await using server = await startPostgres({ fsync: true });
  const place: StorePlace = { type: "postgres", url: server.url };
  // Makes the table: two sessions that make one at the same time fail, and so would their flows.
  await bookingsOf(place);
  const { stops = 0, restarts = 0, accounts = 0, busy = 0, leaseMs, ...rest } = options;
  if (accounts > 0) await makeAccounts(place, accounts);
  return await strikeHosts({
    ...rest,
    ...{ stops, restarts, accounts, busy, leaseMs, server },
    ...(accounts > 0 && { faults: () => faultsOfAccounts(place, accounts) }),
    flowsPerStrike: FLOWS_PER_KILL,
    bookings: () => bookingsOf(place),
  });
}
