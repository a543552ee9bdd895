// A host with good flows and at most one bad one: `poison-child.js STORE KIND HOST LEASE_MS`. It prints who is in hospital, in each life.

import { setTimeout as pause } from "node:timers/promises";
import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { storeAt } from "../stores.js";
import {
  GOOD,
  HURT,
  isPoison,
  LONGEST_MS,
  POISON,
  type PoisonKind,
  READY,
  SHORTEST_MS,
  stepMsOf,
} from "./poison.js";

const [place = "", kind = "none", hostId = "host", lease] = process.argv.slice(2);

const DEEDS: Readonly<Record<PoisonKind, () => unknown>> = {
  exit: () => process.exit(1),
  uncaught: () =>
    void setTimeout(() => {
      throw new Error("nobody catches this");
    }),
  memory: () => {
    const all: unknown[] = [];
    for (;;) all.push(new Array(100_000).fill(all));
  },
  spin: () => {
    for (;;);
  },
  // A stack that ends outside of JavaScript: no error is thrown.
  stack: () => process.kill(process.pid, "SIGSEGV"),
  abort: () => process.abort(),
};

const good = defineFlow("good", async (flow, ms: number) => {
  await flow.step("work", () => pause(ms));
  return ms;
});
const poison = defineFlow("poison", async (flow, deed: PoisonKind) => {
  await flow.step("wait", () => pause(SHORTEST_MS));
  await flow.step("harm", async () => {
    await pause(SHORTEST_MS);
    DEEDS[deed]();
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
  await pause(SHORTEST_MS);
}
