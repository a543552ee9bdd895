// From events to OpenTelemetry's metrics. Attributes are labels and other words of bounded number, never pids.

import type { Attributes, Counter, Histogram, Meter, ObservableGauge } from "@opentelemetry/api";
import { HTTP_METRICS } from "../service/http/metrics.js";
import { POOL_METRICS } from "../service/pool/metrics.js";
import { PROTECTION_METRICS } from "../service/protection/metrics.js";
import { HOST_METRICS } from "../service/telemetry/host-metrics.js";
import type { Instrument, MetricSink } from "../service/telemetry/instruments.js";
import { Labels } from "../service/telemetry/labels.js";
import { NODE_METRICS } from "../service/telemetry/node-metrics.js";
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
  stream.subscribe("crash", ({ process, reason }) => {
    crashes.add(1, { label: stream.labelOf(process), reason: reason.type });
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
  const ends = [observeMailboxes(stream, meter), stream.measure(sinkOf(meter)), observeGauges(stream, meter)];
  return () => {
    for (const end of ends) end();
  };
}

/** Pools, guards and HTTP servers report counts and times, not events. */
function sinkOf(meter: Meter): MetricSink {
  const counters = new Map<Instrument, Counter>();
  const histograms = new Map<Instrument, Histogram>();
  return {
    count: (instrument, by, labels) => {
      const counter = counters.get(instrument) ?? meter.createCounter(instrument.name, wordsOf(instrument));
      counters.set(instrument, counter);
      counter.add(by, attributesOf(instrument, labels));
    },
    observe: (instrument, value, labels) => {
      const histogram =
        histograms.get(instrument) ?? meter.createHistogram(instrument.name, wordsOf(instrument));
      histograms.set(instrument, histogram);
      histogram.record(value, attributesOf(instrument, labels));
    },
  };
}

/** Their gauges are read when the meter's reader asks. */
function observeGauges(stream: TelemetryStream, meter: Meter): () => void {
  const all = [HOST_METRICS, NODE_METRICS, POOL_METRICS, PROTECTION_METRICS, HTTP_METRICS].flatMap((table) =>
    Object.values(table),
  );
  const gauges = new Map<Instrument, ObservableGauge>();
  for (const instrument of all)
    if (instrument.kind === "gauge")
      gauges.set(instrument, meter.createObservableGauge(instrument.name, wordsOf(instrument)));
  const observables = [...gauges.values()];
  const observe: Parameters<Meter["addBatchObservableCallback"]>[0] = (result) => {
    // Sources with the same labels are one series.
    const sums = new Map<string, { gauge: ObservableGauge; attributes: Attributes; value: number }>();
    stream.gauges((instrument, value, ...labels) => {
      const gauge = gauges.get(instrument);
      if (gauge === undefined) return;
      const key = JSON.stringify([instrument.name, ...labels]);
      const sum = sums.get(key) ?? { gauge, attributes: attributesOf(instrument, labels), value: 0 };
      sums.set(key, sum);
      sum.value += value;
    });
    for (const { gauge, attributes, value } of sums.values()) result.observe(gauge, value, attributes);
  };
  meter.addBatchObservableCallback(observe, observables);
  return () => meter.removeBatchObservableCallback(observe, observables);
}

function wordsOf({ unit, help }: Instrument): { readonly unit: string; readonly description: string } {
  return { unit, description: help };
}

/** A label without a value is left out. */
function attributesOf({ labels }: Instrument, values: readonly string[]): Attributes {
  const attributes: Attributes = {};
  for (const [i, label] of labels.entries()) if (values[i] !== "") attributes[label] = values[i] as string;
  return attributes;
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
