// What the benchmarks of flows do in processes of their own: `flow-child.js half PLACE FLOWS STEPS`, `sleep FILE FLOWS`, `weigh FILE`.

import { System } from "signalbox";
import { flowHost } from "signalbox/flow";
import { residentBytes, sleeping, sourceAt, summing, type Weighed } from "./flows.js";
import { READY } from "./killed.js";

const [role, place = "", ...numbers] = process.argv.slice(2);
const [flows = 0, steps = 0] = numbers.map(Number);
const system = new System({ report: false });

/** Starts flows, and says so when each has done the first half of its steps. */
async function half(): Promise<void> {
  let reached = 0;
  let all!: () => void;
  const reachedBy = new Promise<void>((resolve) => {
    all = resolve;
  });
  const flow = summing((step) => {
    if (step !== steps / 2) return undefined;
    if (++reached === flows) all();
    return new Promise(() => undefined);
  });
  const host = await system.start(flowHost({ store: sourceAt(place), flows: [flow] }));
  await Promise.all(
    Array.from({ length: flows }, (_, from) => host.start(flow, { from, steps }, { id: `half-${from}` })),
  );
  await reachedBy;
}

/** Starts flows that sleep, and says so when they have left memory. */
async function sleep(): Promise<void> {
  const host = await system.start(
    flowHost({ store: sourceAt(place), flows: [sleeping], limits: { idleMs: 0 } }),
  );
  for (let n = 0; n < flows; n += 1_000)
    await Promise.all(
      Array.from({ length: Math.min(1_000, flows - n) }, (_, i) =>
        host.start(sleeping, n + i, { id: `sleep-${n + i}` }),
      ),
    );
  while (flows > 0 && (await host.get(`sleep-${flows - 1}`).info()).status !== "waiting");
  await system.stop();
}

/** Starts a host, and prints how long that took and what it weighs. */
async function weigh(): Promise<void> {
  const started = performance.now();
  const host = await system.start(flowHost({ store: sourceAt(place), flows: [sleeping] }));
  const ms = performance.now() - started;
  // All that it does by itself at its start is behind it when a flow has run.
  await (await host.start(sleeping, 0, { id: "last" })).info();
  const bytes = residentBytes();
  const isAsleep = async (id: string): Promise<boolean> => (await host.get(id).info()).status === "waiting";
  const asleep = flows === 0 || ((await isAsleep("sleep-0")) && (await isAsleep(`sleep-${flows - 1}`)));
  console.log(JSON.stringify({ flows: asleep ? flows : -1, bytes, ms } satisfies Weighed));
  process.exit(0);
}

if (role === "half") await half();
else if (role === "sleep") await sleep();
else await weigh();
process.stdout.write(READY);
if (role !== "weigh") await new Promise(() => setInterval(() => undefined, 1_000));
