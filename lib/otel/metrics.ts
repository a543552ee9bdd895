// From events to OpenTelemetry's metrics. Attributes are labels and other words of bounded number, never pids.

import type { Meter } from "@opentelemetry/api";
import { Labels } from "../service/telemetry/labels.js";
import type { TelemetryStream } from "../service/telemetry/telemetry.js";

const SECONDS = { unit: "s" };

/** Records the events of a stream. Returns the function that ends it. */
export function measure(stream: TelemetryStream, meter: Meter): () => void {
  const groups = new Labels();
  const seconds = (name: string, description: string): ReturnType<Meter["createHistogram"]> =>
    meter.createHistogram(`signalbox.${name}`, { ...SECONDS, description });
  const calls = seconds("call.duration", "From a call to its end.");
  stream.subscribe("call:end", ({ label, method = "", outcome, durationMs }) => {
    calls.record(durationMs / 1_000, { label, method, outcome });
  });
  const handling = seconds("message.duration", "From the begin to the end of a message's handling.");
  const waiting = seconds("mailbox.wait", "From the arrival of a message to its handling.");
  stream.subscribe("message:end", ({ label, kind, outcome, durationMs, waitedMs }) => {
    handling.record(durationMs / 1_000, { label, kind, outcome });
    waiting.record(waitedMs / 1_000, { label, kind });
  });
  const dispatches = seconds("dispatch.duration", "From a dispatch to its end.");
  stream.subscribe("dispatch:end", ({ group, outcome, durationMs }) => {
    dispatches.record(durationMs / 1_000, { group: groups.name(group), outcome });
  });
  const attempts = meter.createCounter("signalbox.dispatch.attempts", {
    description: "Attempts of dispatches that have ended.",
  });
  stream.subscribe("attempt:end", ({ group, outcome }) => {
    attempts.add(1, { group: groups.name(group), outcome });
  });
  const crashes = meter.createCounter("signalbox.crashes", { description: "Processes that have crashed." });
  const names = new Labels();
  stream.subscribe("crash", ({ process, reason }) => {
    crashes.add(1, { label: names.of(process), reason: reason.type });
  });
  const restarts = meter.createCounter("signalbox.restarts", { description: "Restarts by supervisors." });
  stream.subscribe("restart", ({ supervisor, child, gaveUp }) => {
    restarts.add(1, { supervisor: names.of(supervisor), child: names.name(child), gave_up: gaveUp });
  });
  const steps = seconds(
    "flow.step.duration",
    "From the begin to the end of an attempt of a durable flow's step.",
  );
  stream.subscribe("flow:step", ({ flow, kind, outcome, durationMs }) => {
    steps.record(durationMs / 1_000, { flow, kind, outcome });
  });
  const flows = meter.createCounter("signalbox.flows", { description: "Durable flows that have ended." });
  stream.subscribe("flow:end", ({ flow, outcome }) => {
    flows.add(1, { flow, outcome });
  });
  return observeMailboxes(stream, meter);
}

/** Mailboxes are counted when the meter's reader asks. */
function observeMailboxes(stream: TelemetryStream, meter: Meter): () => void {
  const depth = meter.createObservableGauge("signalbox.mailbox.depth", {
    description: "Messages and signals that wait, in all mailboxes of a label together.",
  });
  const processes = meter.createObservableGauge("signalbox.processes", { description: "Living processes." });
  const observe: Parameters<Meter["addBatchObservableCallback"]>[0] = (result) => {
    for (const { label, depth: waiting, processes: living } of stream.sample()) {
      result.observe(depth, waiting, { label });
      result.observe(processes, living, { label });
    }
  };
  meter.addBatchObservableCallback(observe, [depth, processes]);
  return () => meter.removeBatchObservableCallback(observe, [depth, processes]);
}
