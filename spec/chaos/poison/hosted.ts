// Three hosts of a poisoned program that share a server, with and without a broker.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { openStore, postgres, type Schema, type Store } from "signalbox/store";
import { noNats, startNats } from "../../support/nats.js";
import { noPostgres, startPostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";
import type { PoisonProgram } from "./program.js";
import { SupervisedHosts } from "./supervised.js";

export const HOSTS = 3;
/** Over all hosts. Without a last word it takes a life of each that is not watched, and three that are; one host may be faster than the news. */
export const MOST_DEATHS = 8;
const LEASE_MS = 2_000;
const LOOK_MS = 200;
const MOST_LOOKS = 600;

/** Where the hosts share their work, and whether a broker carries it. */
export const PLACES = [
  ["on PostgreSQL", false],
  ["over JetStream", true],
] as const;

/** Whether the servers are there, and whether there is time. */
export function canHost(isBrokered: boolean): boolean {
  return proving && noPostgres === undefined && (!isBrokered || noNats === undefined);
}

export interface HostedProgram {
  readonly program: PoisonProgram;
  readonly schema: Schema;
  readonly kind: string;
  readonly isBrokered: boolean;
}

/** Runs the hosts, and looks into their store again and again until `isDone`. */
export async function hosted(
  { program, schema, kind, isBrokered }: HostedProgram,
  isDone: (store: Store, hosts: SupervisedHosts) => Promise<boolean>,
): Promise<void> {
  await using server = await startPostgres();
  await using nats = isBrokered ? await startNats() : undefined;
  const place = JSON.stringify({ type: "postgres", url: server.url });
  const broker = nats === undefined ? [] : [nats.address];
  await using system = new System({ report: false });
  const store = await openStore(system, postgres(server.url), [schema]);
  const hosts = new SupervisedHosts(HOSTS, (host) =>
    program.start(place, kind, `h${host}`, String(LEASE_MS), ...broker),
  );
  try {
    for (let looks = 0; looks < MOST_LOOKS && !(await isDone(store, hosts)); looks++) await pause(LOOK_MS);
  } finally {
    await hosts.stop();
    await store.close();
  }
}
