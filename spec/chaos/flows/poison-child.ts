// A host with good flows and at most one bad one: `poison-child.js STORE KIND HOST LEASE_MS`. It prints who is in hospital, in each life.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { ALIVE, GOOD, HURT, harm, isPoison, POISON, type PoisonKind, READY } from "../poison/deeds.js";
import { storeAt } from "../stores.js";

const [place = "", kind = "none", hostId = "host", lease] = process.argv.slice(2);

/** The steps of good flows take as long as this at least, and at most. */
const SHORTEST_MS = 100;
const LONGEST_MS = 60_000;

/** From 0.1 s to 60 s, most of them short. */
function stepMsOf(i: number): number {
  return SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** (i / (GOOD - 1));
}

const good = defineFlow("good", async (flow, ms: number) => {
  await flow.step("work", () => pause(ms));
  return ms;
});
const poison = defineFlow("poison", async (flow, deed: PoisonKind) => {
  await flow.step("wait", () => pause(SHORTEST_MS));
  await flow.step("harm", async () => {
    await pause(SHORTEST_MS);
    harm(deed);
    await pause(LONGEST_MS);
  });
});

const system = new System({ name: "host", report: false });
const host = await system.start(
  flowHost({
    store: storeAt(JSON.parse(place), lease === undefined ? undefined : Number(lease)),
    flows: [good, poison],
    hostId,
  }),
);
const starts = Array.from({ length: GOOD }, (_, i) => host.start(good, stepMsOf(i), { id: `good-${i}` }));
if (isPoison(kind)) starts.push(host.start(poison, kind, { id: POISON }) as never);
await Promise.all(starts);
console.log(READY);
for (;;) {
  const patients = await host.hospital.patients();
  if (patients.length > 0) console.log(HURT + JSON.stringify(patients.map(({ id }) => id)));
  console.log(ALIVE);
  await pause(SHORTEST_MS);
}
