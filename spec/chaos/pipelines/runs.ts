// The kill tests on real stores.

import { startNats } from "../../support/nats.js";
import { startPostgres } from "../../support/postgres.js";
import { type KillReport, killAgainAndAgain } from "./kills.js";

/** Inputs that begin in each life of a host. */
const INPUTS_PER_KILL = 10;
/** Hosts that share the work of an execution on PostgreSQL. */
const HOSTS = 3;

interface RunOptions {
  readonly kills: number;
  readonly seed: number;
  /** What Node is given to run the child. */
  readonly child: readonly string[];
  progress?(done: number): void;
}

export function killOnSqlite(options: RunOptions): Promise<KillReport> {
  return killAgainAndAgain({ ...options, store: "sqlite", inputsPerKill: INPUTS_PER_KILL });
}

/** Several hosts on a server of its own, which lives on. One of them is killed at a time; the others work on. */
export async function killOnPostgres(options: RunOptions): Promise<KillReport> {
  await using server = await startPostgres();
  const store = { type: "postgres", url: server.url } as const;
  return await killAgainAndAgain({ ...options, store, hosts: HOSTS, inputsPerKill: INPUTS_PER_KILL });
}

/** The same over JetStream: the ledger is in PostgreSQL, and a broker of its own carries the messages. It is killed as well. */
export async function killOnJetstream(options: RunOptions): Promise<KillReport> {
  await using server = await startPostgres();
  await using nats = await startNats();
  const broker = {
    address: nats.address,
    strike: async (isLost: boolean) => {
      await (isLost ? nats.wipe() : nats.kill());
      await nats.start();
    },
  };
  const store = { type: "postgres", url: server.url } as const;
  const places = { store, broker, hosts: HOSTS };
  return await killAgainAndAgain({ ...options, ...places, inputsPerKill: INPUTS_PER_KILL });
}
