// A node: a process of the operating system that joins the cluster and works on flights. It may be killed at any moment, and keeps nothing.

import { setTimeout as sleep } from "node:timers/promises";
import { consumer, System, supervisor } from "signalbox";
import { joinCluster, nats } from "signalbox/nodes";
import { type Flight, hourOf } from "../flights/flights.js";
import type { Contribution } from "../flights/ledger.js";
import { CLUSTER, CONCURRENCY, newCrew } from "./crew.js";

/** A flight later than this, in minutes, is looked up elsewhere: work that takes its time, and is cut short by a kill. */
const VERY_LATE = 60;
const LOOKUP_MS = 1;

const [name = "", servers = ""] = process.argv.slice(2);
const system = new System({ name });
const node = await joinCluster(system, nats({ servers, cluster: CLUSTER }));
const crew = newCrew(node);

const work = async ({ delay, distance, time }: Flight): Promise<Contribution> => {
  if (delay > VERY_LATE) await sleep(LOOKUP_MS);
  return { hour: hourOf(time), delay, distance };
};
const worker = consumer(work, { group: crew, id: name, concurrency: CONCURRENCY });
await system.start(supervisor({ children: [{ id: "worker", start: worker }] }));

// The end of standard input is the end of the process that started this one. Whoever waits for a flight gets its reply first.
process.stdin.resume().once("close", () => void system.stop());
