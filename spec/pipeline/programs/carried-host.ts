// One host of an execution that several processes share: `carried-host.js PLAN`, where PLAN is the JSON of a CarriedPlan. It writes down
// each output, and says when the execution is complete.

import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { System, supervisor } from "signalbox";
import { definePipeline, jetstream, many, pipelineHost, queue, route } from "signalbox/pipeline";
import { postgres } from "signalbox/store";
import type { PostgresConnection } from "../../support/postgres.js";

/** What the host is given. */
export interface CarriedPlan {
  readonly connection: PostgresConnection;
  readonly broker: string;
  readonly inputs: number;
  /** A file of this host, for a line an output. */
  readonly outputs: string;
}

const plan = JSON.parse(process.argv[2] as string) as CarriedPlan;
const numbers = queue<number>("numbers");
const parts = queue<number>("parts");
const retry = { attempts: 100, backoff: { minMs: 10, maxMs: 100 } };
const split = route("split", { from: numbers, concurrency: 4, retry })
  .via("split", (n: number) => many([n, n + plan.inputs]))
  .to(parts);
const write = route("write", { from: parts, concurrency: 4, retry }).via("write", async (n, ctx) => {
  await pause(1);
  // The first attempt of some fails: they are tried again later.
  if (n % 50 === 0 && ctx.attempt === 1) throw new Error("not yet");
  appendFileSync(plan.outputs, `${ctx.id} ${n}\n`);
  return undefined;
});
const pipeline = definePipeline("carried", { routes: [split, write] });
const definition = pipelineHost({
  store: postgres(plan.connection, { schema: "pipelines", leaseMs: 1_000 }),
  carrier: jetstream({ servers: plan.broker, answerMs: 500 }),
  pipelines: [pipeline],
});
const system = new System({ report: false });
const child = { id: "host", name: "pipelines", start: definition };
const backoff = { minMs: 5, maxMs: 5 };
await system.start(supervisor({ intensity: 1_000, periodMs: 60_000, backoff, children: [child] }));
const host = definition.at(system, "pipelines");
console.log("up");
const values = [...Array(plan.inputs).keys()];
const options = { id: "one", messages: { to: numbers, values } };
for (;;) {
  try {
    const run = await host.start(pipeline, options);
    const { inputs, done, dead } = await run.completed();
    console.log(`completed ${inputs} ${done} ${dead}`);
    break;
  } catch (error) {
    // The host is being started again.
    if (!/^ERR_(CALL|STORE)/.test((error as { readonly code?: string }).code ?? "")) throw error;
    await pause(20);
  }
}
await system.stop();
