// A program whose durable queue has good messages and a bad one: `poison-child.js STORE KIND HOST LEASE_MS BROKER`.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { done, jetstream, openQueues } from "signalbox/pipeline";
import { ALIVE, GOOD, harm, isPoison, type PoisonKind, READY } from "../poison/deeds.js";
import { storeAt } from "../stores.js";

const [place = "", kind = "none", , lease, broker] = process.argv.slice(2);
/** How long good messages take at most, in milliseconds. */
const MOST_MS = 400;
const HANG_MS = 60_000;

const system = new System({ name: "host", report: false });
const queues = await openQueues(system, {
  store: storeAt(JSON.parse(place), Number(lease)),
  ...(broker === undefined ? {} : { carrier: jetstream({ servers: broker }) }),
});
const work = queues.queue<number | PoisonKind>("work");
const results = queues.queue<number>("results");
await work.subscribe({ concurrency: 10 }, async ({ value, attempt, publish }) => {
  if (typeof value === "number") {
    await pause((MOST_MS * value) / GOOD);
    if (attempt === 1) throw new Error("the first attempt fails");
    await publish(results, value);
    return done;
  }
  await pause(MOST_MS / GOOD);
  harm(value);
  await pause(HANG_MS);
  return done;
});
const values: (number | PoisonKind)[] = Array.from({ length: GOOD }, (_, n) => n);
if (isPoison(kind)) values.splice(GOOD / 2, 0, kind);
await work.publishMany(values.map((value) => ({ value, id: String(value) })));
console.log(READY);
for (;;) {
  await work.counts();
  console.log(ALIVE);
  await pause(MOST_MS / 4);
}
