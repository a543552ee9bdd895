// The instruments of the kernel, dispatches and flows. Those of the pool, of protection, of HTTP and of the host's runtime are beside
// the code that they measure, in files `metrics.ts` and in runtime.ts.

import type { Instrument, Instruments } from "./instruments.js";

function counter(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.${name}`, kind: "counter", unit, help, labels };
}

function gauge(name: string, unit: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.${name}`, kind: "gauge", unit, help, labels };
}

function seconds(name: string, help: string, ...labels: readonly string[]): Instrument {
  return { name: `signalbox.${name}`, kind: "histogram", unit: "s", help, labels };
}

/** Labels times methods times outcomes; the labels and the methods of each are bounded by themselves. */
const MAX_CALL_SERIES = 1_000;

/** In the order of the page. */
export const KERNEL_METRICS: Instruments<
  | "processes"
  | "depth"
  | "deepest"
  | "calls"
  | "callSeconds"
  | "casts"
  | "handled"
  | "waitSeconds"
  | "handleSeconds"
  | "dispatches"
  | "dispatchSeconds"
  | "attempts"
  | "exits"
  | "restarts"
  | "deadLetters"
  | "flows"
  | "flowSteps"
  | "flowStepSeconds"
> = {
  processes: gauge("processes", "{process}", "Living processes.", "label"),
  depth: gauge(
    "mailbox.depth",
    "{message}",
    "Messages and signals that wait, in all mailboxes together.",
    "label",
  ),
  deepest: gauge("mailbox.deepest", "{message}", "Messages and signals in the fullest mailbox.", "label"),
  calls: {
    ...counter("calls", "{call}", "Calls that have ended.", "label", "method", "outcome"),
    maxSeries: MAX_CALL_SERIES,
  },
  callSeconds: {
    ...seconds("call.duration", "From a call to its end.", "label", "method"),
    maxSeries: MAX_CALL_SERIES,
  },
  casts: counter("casts", "{cast}", "Casts that were sent.", "label", "method"),
  handled: counter("handled", "{message}", "Messages and signals that were handled.", "label"),
  waitSeconds: seconds("mailbox.wait", "From the arrival of a message to its handling.", "label"),
  handleSeconds: seconds("message.duration", "From the begin to the end of a message's handling.", "label"),
  dispatches: counter("dispatches", "{dispatch}", "Dispatches that have ended.", "group", "outcome"),
  dispatchSeconds: seconds("dispatch.duration", "From a dispatch to its end.", "group"),
  attempts: counter(
    "dispatch.attempts",
    "{attempt}",
    "Attempts of dispatches that have ended.",
    "group",
    "outcome",
  ),
  exits: counter("exits", "{process}", "Processes that have ended.", "label", "reason"),
  restarts: counter("restarts", "{restart}", "Restarts by supervisors.", "supervisor", "child", "gave_up"),
  deadLetters: counter("dead_letters", "{message}", "Messages that reached no process."),
  flows: counter("flows", "{flow}", "Durable flows that have ended.", "flow", "outcome"),
  flowSteps: counter(
    "flow.steps",
    "{attempt}",
    "Attempts of steps of durable flows that have ended.",
    "flow",
    "kind",
    "outcome",
  ),
  flowStepSeconds: seconds(
    "flow.step.duration",
    "From the begin to the end of an attempt of a durable flow's step.",
    "flow",
    "kind",
  ),
};
