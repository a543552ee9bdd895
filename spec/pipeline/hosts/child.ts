// A process that shares an execution with others: `child.js URL`. What it works on ends only after SIGUSR2: on a busy machine the first
// process might have done everything before the last one has its first part.

import { once } from "node:events";
import { System } from "signalbox";
import { pipelineHost } from "signalbox/pipeline";
import { postgres } from "signalbox/store";
import { ENDED, EXECUTION, together } from "./pipeline.js";

const system = new System({ report: false });
const told = once(process, "SIGUSR2");
const pipeline = together((line) => process.stdout.write(`${line}\n`), told);
const store = postgres(process.argv[2] as string);
const host = await system.start(pipelineHost({ store, pipelines: [pipeline] }));
const run = await host.start(pipeline, { id: EXECUTION });
const { status, inputs, done, dead, pending } = await run.completed();
console.log(ENDED + JSON.stringify({ status, inputs, done, dead, pending }));
await host.stop();
await system.stop();
