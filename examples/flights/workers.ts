// The workers: consumers of one group under one supervisor, each of which may be killed at any moment.

import { setTimeout as sleep } from "node:timers/promises";
import { ConsumerGroup, consumer, type Delivery, type SupervisorDefinition, supervisor } from "signalbox";
import { type Flight, hourOf } from "./flights.js";
import type { LedgerRef } from "./ledger.js";

/** The payload of an envelope: a flight, and its place in the file. */
export interface Assignment {
  readonly index: number;
  readonly flight: Flight;
}

/** A flight later than this, in minutes, is looked up elsewhere: work that takes its time, and is cut short by a kill. */
const VERY_LATE = 60;
const LOOKUP_MS = 1;

export type Crew = ConsumerGroup<Assignment>;

export function newCrew(): Crew {
  return new ConsumerGroup<Assignment>({
    name: "crew",
    // The deadline is the one limit: a flight is tried until then, however often its worker is killed, and while all
    // of them are down it waits for one to be back. A worker that is up again counts as another one.
    deadlineMs: 20_000,
    maxAttempts: Number.POSITIVE_INFINITY,
    patienceMs: Number.POSITIVE_INFINITY,
  });
}

export function workers(count: number, crew: Crew, ledger: LedgerRef): SupervisorDefinition {
  const ids = Array.from({ length: count }, (_, index) => `worker-${index + 1}`);
  return supervisor({
    label: "workers",
    // A service that crashes thousands of times is broken, and its supervisor should give up. Not this one: its
    // workers are healthy, and killed on purpose. A short period, because a supervisor remembers restarts that long.
    intensity: Number.POSITIVE_INFINITY,
    periodMs: 100,
    // The screen counts the kills; a line for each would bury it.
    report: false,
    children: ids.map((id) => ({ id, start: worker(id, crew, ledger) })),
  });
}

/**
 * A worker keeps nothing: it acknowledges a flight and commits it to the ledger in one synchronous step, so that a kill
 * strikes before both, and the flight is re-routed and not counted yet, or after both, and it is done. Sums of its own
 * would die with it, and a commit before an await and then the acknowledgement would be made again by the next worker.
 */
function worker(id: string, crew: Crew, ledger: LedgerRef): ReturnType<typeof consumer<Assignment>> {
  const work = async ({ index, flight }: Assignment, delivery: Delivery<Assignment>): Promise<void> => {
    const { delay, distance, time } = flight;
    if (delay > VERY_LATE) await sleep(LOOKUP_MS);
    const part = { hour: hourOf(time), delay, distance };
    // A killed worker's code that wakes up late ends here, at the refused `ack`; `ack` is false when the dispatch is over.
    if (delivery.ack()) ledger.cast.commit(index, part);
  };
  return consumer(work, { group: crew, id });
}
