// A host with good messages, whose adapter fails at first, and at most one bad one: `poison-child.js STORE KIND HOST LEASE_MS BROKER`.
// Alone it ends when all is done. With a HOST of a shared store it goes on.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { definePipeline, jetstream, pipelineHost, queue, route } from "signalbox/pipeline";
import { ALIVE, GOOD, harm, isPoison, type PoisonKind, READY } from "../poison/deeds.js";
import { storeAt } from "../stores.js";

const [place = "", kind = "none", hostId, lease, broker] = process.argv.slice(2);
/** How long good messages take at most, in milliseconds. */
const MOST_MS = 400;
const HANG_MS = 60_000;

const work = queue<number | PoisonKind>("work");
const works = route("works", { from: work, concurrency: 10 }).via("work", async (value, ctx) => {
  if (typeof value === "number") {
    await ctx.sleep((MOST_MS * value) / GOOD);
    if (ctx.attempt === 1) throw new Error("the first attempt fails");
    return;
  }
  await ctx.sleep(MOST_MS / GOOD);
  harm(value);
  await pause(HANG_MS);
});
const pipeline = definePipeline("poison", { routes: [works] });

const system = new System({ name: "host", report: false });
const host = await system.start(
  pipelineHost({
    store: storeAt(JSON.parse(place), lease === undefined ? undefined : Number(lease)),
    pipelines: [pipeline],
    ...(hostId === undefined ? {} : { hostId }),
    ...(broker === undefined ? {} : { carrier: jetstream({ servers: broker }) }),
  }),
);
const values: (number | PoisonKind)[] = Array.from({ length: GOOD }, (_, n) => n);
if (isPoison(kind)) values.splice(GOOD / 2, 0, kind);
await host.start(pipeline, { id: "one", messages: { to: work, values } });
console.log(READY);
if (hostId === undefined) {
  await host.get("one").completed();
  process.exit(0);
}
for (;;) {
  // A host that lost its claim is gone, and the program ends.
  await host.get("one").progress();
  console.log(ALIVE);
  await pause(MOST_MS / 4);
}
