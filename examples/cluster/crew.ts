// The crew: a consumer group that spans the nodes. Each node makes it, by the same name.

import { ConsumerGroup } from "signalbox";
import type { ClusterNode } from "signalbox/nodes";
import type { Flight } from "../flights/flights.js";
import type { Contribution } from "../flights/ledger.js";

export type Crew = ConsumerGroup<Flight, Contribution>;

/** The name of the cluster. Clusters of different names share a server and never meet. */
export const CLUSTER = "flights";
/** Flights that a node works on at the same time. */
export const CONCURRENCY = 64;

export function newCrew(node: ClusterNode): Crew {
  return new ConsumerGroup<Flight, Contribution>({
    name: "crew",
    scope: node,
    // Nodes are killed on purpose: a flight is tried until its deadline, however often that happens, and while all
    // nodes are down it waits for one of them.
    deadlineMs: 60_000,
    maxAttempts: Number.POSITIVE_INFINITY,
    patienceMs: Number.POSITIVE_INFINITY,
  });
}
