// The command line of `npm run chaos:pipelines`.

import { CommandLine, SHARED_USAGE, type SharedOptions } from "../command-line.js";

export interface ChaosOptions extends SharedOptions {
  /** `sqlite` and `postgres`: the store's tables are the queues. `jetstream`: a broker, beside PostgreSQL. */
  readonly queue: "sqlite" | "postgres" | "jetstream";
}

const USAGE = `npm run chaos:pipelines -- [--queue sqlite|postgres|jetstream] ${SHARED_USAGE}`;

/** Hosts that share a server, unless the command line says otherwise. */
const HOSTS = 3;

/** @throws ChaosUsageError in one line */
export function readChaosOptions(args: readonly string[]): ChaosOptions {
  const line = new CommandLine(args, USAGE, "queue", { queue: "sqlite" });
  const queue = line.one("queue", ["sqlite", "postgres", "jetstream"]);
  const isShared = queue !== "sqlite";
  return { ...line.shared(isShared, isShared ? HOSTS : 1), queue };
}
