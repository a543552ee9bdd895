// The last hour: the door is shut first, and then the orders that are under way get time to be finished, while everything that
// crashes is still restarted. What is not finished by then waits in the journal for the next start.

import { setTimeout as sleep } from "node:timers/promises";
import { type System, supervisorRef } from "signalbox";
import { Journal } from "./journal.js";
import { patienceOf } from "./patience.js";

/** How often the open orders are counted. */
const COUNT_MS = 20;
/** How long customers who are being served may take. */
const DOOR_MS = 5_000;

/** @param patienceMs - how long orders may take to be finished */
export async function close(system: System, patienceMs: number): Promise<void> {
  const journal = Journal.at(system, "journal");
  const patient = patienceOf(system);
  await supervisorRef(system, "shop").terminateChild("door", { timeoutMs: DOOR_MS + patienceMs });
  const given = AbortSignal.timeout(patienceMs);
  while (!given.aborted) {
    const { accepted, shipped, refused } = await patient(() => journal.call.counts());
    if (accepted === shipped + refused) return;
    await sleep(COUNT_MS);
  }
}
