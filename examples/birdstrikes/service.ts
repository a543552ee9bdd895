// The process that runs the pipeline and is killed: `service.js FOLDER AIRPORTS [CALLS]`. It starts the execution, or goes on with it
// where the last process was killed. With CALLS it kills itself when its adapters have worked on so many records.

import { join } from "node:path";
import { System } from "signalbox";
import { pipelineHost } from "signalbox/pipeline";
import { sqlite } from "signalbox/store";
import { Airports } from "./airports.js";
import { birdstrikes, EXECUTION } from "./pipeline.js";
import { openReport } from "./report.js";

const [folder = "", airports = "", calls] = process.argv.slice(2);
/** How often it says how far it is. */
const SAY_MS = 50;

let left = calls === undefined ? Number.POSITIVE_INFINITY : Number(calls);
function called(): void {
  // SIGKILL cannot be caught: no handler runs, no buffer is written, no file is closed.
  if (--left === 0) process.kill(process.pid, "SIGKILL");
}

const system = new System({ name: "birdstrikes" });
const report = await openReport(system, folder);
const pipeline = birdstrikes({
  ...{ file: join(folder, "strikes.csv"), airports: new Airports(airports) },
  ...{ report: report.target, called },
});
const host = await system.start(
  pipelineHost({ store: sqlite(join(folder, "jobs.db")), pipelines: [pipeline] }),
);
const run = await host.start(pipeline, { id: EXECUTION });
for await (const progress of run.follow({ everyMs: SAY_MS })) console.log(JSON.stringify(progress));
await run.completed();
await host.stop();
await report.close();
await system.stop();
