// The NATS server of a run of benchmarks: one on loopback for both sides.

import { type NatsServer, noNats, startNats } from "../support/nats.js";

/** How the processes of a run find the server. */
const VARIABLE = "SIGNALBOX_BENCH_NATS";

/** Starts the server of this run, for this process and its children. Undefined where there is no NATS. */
export async function startBenchNats(): Promise<NatsServer | undefined> {
  if (noNats !== undefined) return undefined;
  const server = await startNats();
  process.env[VARIABLE] = server.address;
  return server;
}

/** The address of the run's server. */
export function benchNats(): string {
  const address = process.env[VARIABLE];
  if (address === undefined) throw new Error("the run has no NATS server");
  return address;
}
