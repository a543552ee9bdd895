// The host that is killed: `child.js PLAN`. It starts the flows of its plan, or finds them again, and records what they do.

import { appendFileSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { System, supervisor } from "signalbox";
import { flowHost } from "signalbox/flow";
import { endOf, programFlow } from "../../flow/programs/interpret.js";
import { mailFor, mailOf } from "../../flow/programs/program.js";
import { killingAt, withPoints } from "../points.js";
import { storeAt } from "../stores.js";
import { answering, noted, UnderWay } from "../under-way.js";
import { Recorder } from "./deeds.js";
import { IDLE, type Plan, UP, visitsOf } from "./plan.js";
import { book, transfer } from "./stores.js";

const plan = JSON.parse(readFileSync(process.argv[2] as string, "utf8")) as Plan;
const { accounts } = plan;
const recorder = new Recorder(plan.record);
const { point, passed } = killingAt(plan.killAt);
const underWay = new UnderWay();

const program = programFlow({
  ran: (flow, step, attempt, token) => {
    point();
    recorder.add({ type: "ran", flow, step, attempt, token });
    point();
  },
  seen: (flow, step, booked) => {
    recorder.add({ type: "seen", flow, step, booked });
    point();
  },
  book: accounts === undefined ? book : (tx, flow, step) => transfer(tx, flow, step, accounts),
});

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
  "ERR_FLOW_OUTCOME_UNKNOWN",
  "ERR_HOST_GONE",
  "ERR_STORE",
  "ERR_STORE_CLOSED",
  "ERR_STORE_FENCED",
  "ERR_STORE_UNREACHABLE",
]);
const PAUSE_MS = 20;
const MOST_STARTS = 50;

const system = new System({ name: plan.host ?? "host", report: false });
system.events.on("hospital", (report) => {
  if ("flow" in report) appendFileSync(visitsOf(plan.record), `${JSON.stringify(report)}\n`);
});
answering(system, underWay);
const store = withPoints(noted(storeAt(plan.store, plan.leaseMs), underWay), point);
const definition = flowHost({ store, flows: [program] });
const child = { id: "host", name: "flows", start: definition };
const backoff = { minMs: PAUSE_MS, maxMs: PAUSE_MS };
// A host that loses its claim in its first start takes its supervisor with it. A program would be started again.
for (let tries = 1; ; tries++)
  try {
    await system.start(supervisor({ intensity: 1_000, periodMs: 60_000, backoff, children: [child] }));
    break;
  } catch (error) {
    if ((error as { readonly code?: string }).code !== "ERR_START" || tries === MOST_STARTS) throw error;
    await pause(PAUSE_MS);
  }
const flows = definition.at(system, "flows");
console.log(UP);
await Promise.all(
  plan.flows.map(async ({ id, program: input }) => {
    const asks = <T>(what: string, ask: () => Promise<T>): Promise<T> =>
      underWay.during(`${what} of ${id}`, () => patient(ask));
    const run = await asks("the start", () => flows.start(program, input, { id }));
    point();
    for (const topic of mailOf(input))
      await asks(`the message ${topic}`, () => run.send(topic, mailFor(topic), { messageId: topic }));
    const outcome = await asks("the result", () => endOf(run.result()));
    recorder.add({ type: "ended", flow: id, outcome });
    point();
  }),
);
await system.stop();
if (plan.stays) setInterval(() => undefined, PAUSE_MS);
console.log(IDLE, passed());
