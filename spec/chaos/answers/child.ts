// A program that asks for one thing, and is killed at the answer: `child.js FOLDER OPERATION`. Without an operation it prints how all ended.

import { join } from "node:path";
import { System } from "signalbox";
import { defineFlow, flowHost, openFlowOperations } from "signalbox/flow";
import { definePipeline, pipelineHost, queue, route } from "signalbox/pipeline";
import { sqlite } from "signalbox/store";
import { type Answered, FLOW, RUN } from "./operations.js";

const [folder = "", operation] = process.argv.slice(2);
const waits = defineFlow("waits", (flow, _: undefined) => flow.receive<string>("go"));
const lines = queue<string>("lines");
const work = route("work", { from: lines }).via("work", (_line, { signal }) => {
  return new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
});
const pipeline = definePipeline("lines", { routes: [work] });

const system = new System({ report: false });
const store = sqlite(join(folder, "flows.db"));
const flows = await system.start(flowHost({ store, flows: [waits], socket: false }));
const pipelines = await system.start(
  pipelineHost({ pipelines: [pipeline], store: sqlite(join(folder, "pipelines.db")), socket: false }),
);
const run = await flows.start(waits, undefined, { id: FLOW });
const execution = await pipelines.start(pipeline, { id: RUN, messages: { to: lines, values: ["a"] } });

const ASKED: Readonly<Record<Answered, () => Promise<unknown>>> = {
  "flow cancel": () => run.cancel(),
  "flow kill": () => run.kill(),
  "flow send": () => run.send("go", "sent"),
  "execution cancel": () => execution.cancel(),
  "execution pause": () => execution.pause(),
};

if (operation !== undefined) {
  await ASKED[operation as Answered]();
  process.kill(process.pid, "SIGKILL");
}

const on = await openFlowOperations(system, store);
const flow = await on.outcome(FLOW, { timeoutMs: 2_000 }).then(
  ({ status }) => status,
  () => "running",
);
const { status } = await execution.status();
console.log(JSON.stringify({ flow, execution: status }));
process.exit(0);
