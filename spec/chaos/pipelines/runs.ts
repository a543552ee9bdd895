// The kill tests on real stores.

import { startNats } from "../../support/nats.js";
import { startPostgres } from "../../support/postgres.js";
import { type KillReport, killAgainAndAgain, type SharedServer } from "./kills.js";

/** Inputs that begin in each life of a host. */
const INPUTS_PER_KILL = 10;
/** How often a broker that is killed has lost its data. */
const LOSSES = 0.3;

interface RunOptions {
  readonly kills: number;
  /** Default 0. */
  readonly stops?: number;
  readonly seed: number;
  /** What Node is given to run the child. */
  readonly child: readonly string[];
  progress?(done: number): void;
}

interface SharedRunOptions extends RunOptions {
  readonly hosts: number;
  /** Restarts of the servers, in turn. Default 0. */
  readonly restarts?: number;
  /** Default: the store's own. */
  readonly leaseMs?: number | undefined;
}

export function killOnSqlite(options: RunOptions): Promise<KillReport> {
  return killAgainAndAgain({ ...options, store: "sqlite", inputsPerKill: INPUTS_PER_KILL });
}

/** Several hosts on a server of its own. One of them is killed at a time; the others work on. */
export async function killOnPostgres(options: SharedRunOptions): Promise<KillReport> {
  await using server = await startPostgres();
  const store = { type: "postgres", url: server.url } as const;
  return await killAgainAndAgain({ ...options, store, servers: [server], inputsPerKill: INPUTS_PER_KILL });
}

/** The same over JetStream: the ledger is in PostgreSQL, and a broker of its own carries the messages. It is killed as well. */
export async function killOnJetstream(options: SharedRunOptions): Promise<KillReport> {
  await using server = await startPostgres();
  await using nats = await startNats();
  const broker: SharedServer = {
    restart: async (random) => {
      await (random.unit() < LOSSES ? nats.wipe() : nats.kill());
      await nats.start();
    },
  };
  const store = { type: "postgres", url: server.url } as const;
  const places = { store, broker: nats.address, servers: [broker, server] };
  return await killAgainAndAgain({ ...options, ...places, inputsPerKill: INPUTS_PER_KILL });
}
