// The host that is killed: `child.js PLAN`. It starts the execution of its plan, or finds it again, and records what its routes do.

import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { System, supervisor } from "signalbox";
import { jetstream, pipelineHost } from "signalbox/pipeline";
import { killingAt, withPoints } from "../points.js";
import { storeAt } from "../stores.js";
import { allowedBy, chaosPipeline } from "./pipeline.js";
import { COMPLETED, EXECUTION, IDLE, type Plan, UP } from "./plan.js";
import { Recorder } from "./record.js";

const plan = JSON.parse(readFileSync(process.argv[2] as string, "utf8")) as Plan;
const recorder = new Recorder(plan.record);
const { point, passed } = killingAt(plan.killAt);
const PAUSE_MS = 5;

/** The host may be gone for a while, with its store: then what is asked of it is asked again. All of it is idempotent. */
async function patient<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (code === undefined || !PASSING.has(code)) throw error;
      await pause(PAUSE_MS);
    }
  }
}

const PASSING: ReadonlySet<string> = new Set([
  "ERR_CALL_TIMEOUT",
  "ERR_CALLEE_EXITED",
  "ERR_HOST_GONE",
  "ERR_PIPELINE_OUTCOME_UNKNOWN",
  "ERR_STORE",
  "ERR_STORE_CLOSED",
  "ERR_STORE_FENCED",
  "ERR_STORE_UNREACHABLE",
]);

const system = new System({ name: plan.host, report: false });
const store = withPoints(storeAt(plan.store, plan.leaseMs), point);
const pipeline = chaosPipeline({ ...plan, point, add: (deed) => recorder.add(deed) });
const carrier = plan.broker === undefined ? {} : { carrier: jetstream({ servers: plan.broker }) };
const definition = pipelineHost({ store, pipelines: [pipeline], ...carrier });
const child = { id: "host", name: "pipelines", start: definition };
const backoff = { minMs: PAUSE_MS, maxMs: PAUSE_MS };
await system.start(supervisor({ intensity: 1_000, periodMs: 60_000, backoff, children: [child] }));
const host = definition.at(system, "pipelines");
console.log(UP);
const run = await patient(() => host.start(pipeline, { id: EXECUTION }));

let isOver = false;
/** Says when nothing is left to do but to wait for further inputs. Each look is a point, so nobody looks once all inputs are allowed. */
async function watchForRest(): Promise<void> {
  for (let at = -1; !isOver; await pause(PAUSE_MS)) {
    const allowed = allowedBy(plan.allowed);
    if (allowed >= plan.inputs) return;
    const { inputs, pending } = await patient(() => run.progress());
    // Pending is the source alone.
    if (pending !== 1 || inputs !== allowed || inputs === plan.inputs || at === inputs) continue;
    at = inputs;
    console.log(IDLE, passed());
  }
}
const watch = watchForRest();
const { ended, inputs, done, dead } = await patient(() => run.completed());
isOver = true;
await watch;
recorder.add({ type: "completed", host: plan.host, ended, inputs, done, dead });
point();
console.log(COMPLETED);
await system.stop();
