// The metrics of a system in Prometheus' text format, for those without a collector.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import type { ProcessSystem } from "../../process/system.js";
import { mailboxDepths } from "./gauges.js";
import { checkMetrics, type MetricsOptions, SystemMetrics } from "./metrics.js";
import { Counter, Family, Histogram } from "./series.js";
import { type Hold, hold } from "./telemetry.js";

/** The metrics of one system. {@link prometheus} makes it. */
export class PrometheusMetrics implements AsyncDisposable {
  /** The content type of {@link PrometheusMetrics.text}, for the answer to a scrape. */
  readonly contentType = "text/plain; version=0.0.4; charset=utf-8";
  readonly #kernel: Kernel;
  readonly #hold: Hold;
  readonly #metrics: SystemMetrics;

  /** @internal */
  constructor(kernel: Kernel, held: Hold, metrics: SystemMetrics) {
    this.#kernel = kernel;
    this.#hold = held;
    this.#metrics = metrics;
  }

  /**
   * All metrics as they are now. Gauges are counted when this is called.
   *
   * @example
   * createServer((_request, response) => {
   *   response.setHeader("content-type", metrics.contentType).end(metrics.text());
   * }).listen(9_464, "127.0.0.1");
   */
  text(): string {
    const system = this.#kernel.node.name;
    return [...this.#families()].map((family) => render(family, system)).join("");
  }

  /** Stops counting. */
  close(): void {
    const { recorder } = this.#hold;
    if (recorder.meters === this.#metrics) recorder.meters = undefined;
    this.#hold.release();
  }

  /** Stops counting at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  *#families(): Generator<Metric> {
    const metrics = this.#metrics;
    const { recorder } = this.#hold;
    const kernel = this.#kernel;
    const gauge = (name: string, help: string, ...labels: string[]): Family<Gauge> =>
      new Family(`signalbox_${name}`, help, labels, () => new Gauge());
    const processes = gauge("processes", "Living processes.", "label");
    const depth = gauge(
      "mailbox_depth",
      "Messages and signals that wait, in all mailboxes together.",
      "label",
    );
    const deepest = gauge("mailbox_deepest", "Messages and signals in the fullest mailbox.", "label");
    for (const one of mailboxDepths(kernel, recorder)) {
      processes.of(one.label).value = one.processes;
      depth.of(one.label).value = one.depth;
      deepest.of(one.label).value = one.deepest;
    }
    const lost = new Family("signalbox_dead_letters_total", DEAD_LETTERS, [], () => new Counter());
    lost.of().value = kernel.events.deadLetters;
    yield* [processes, depth, deepest];
    yield* [metrics.callCounts, metrics.callSeconds, metrics.casts, this.#handled()];
    yield* [metrics.waitSeconds, metrics.handleSeconds, metrics.dispatchCounts, metrics.dispatchSeconds];
    yield* [metrics.attempts, metrics.exits, metrics.restarts, lost];
    yield* [metrics.flowCounts, metrics.flowSteps, metrics.flowStepSeconds];
  }

  /** A process counts what it handles. Those that have ended are added up already. */
  #handled(): Family<Counter> {
    const { name, help, labels } = this.#metrics.handledCounts;
    const sums = new Family(name, help, labels, () => new Counter());
    for (const { values, of } of this.#metrics.handledCounts) sums.of(...values).value += of.value;
    for (let process = this.#kernel.newest; process !== undefined; process = process.next)
      sums.of(this.#hold.recorder.labels.of(process.pid)).value += process.handled;
    return sums;
  }
}

/** A number that goes up and down. */
class Gauge {
  value = 0;
}

const DEAD_LETTERS = "Messages that reached no process.";

type Metric = Family<Counter> | Family<Gauge> | Family<Histogram>;

/**
 * Counts and times what happens in a system from now on, for Prometheus. Calls and casts are counted by the label of their
 * process and their method, dispatches by their group; a metric has 200 combinations of labels at most, and counts the others as
 * `other`. Works on every host.
 *
 * @throws OptionError
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 * @example
 * await using metrics = prometheus(system);
 * console.log(metrics.text());
 */
export function prometheus(system: ProcessSystem, options: MetricsOptions = {}): PrometheusMetrics {
  const { kernel } = system;
  const checked = checkMetrics(options);
  const held = hold(kernel);
  const { recorder } = held;
  if (recorder.meters !== undefined) {
    held.release();
    throw new OptionError(
      "system",
      system.name,
      "a system that has no metrics yet: use those, or close them",
    );
  }
  const metrics = new SystemMetrics(checked, () => recorder.now());
  recorder.meters = metrics;
  return new PrometheusMetrics(kernel, held, metrics);
}

function render(family: Metric, system: string): string {
  const { name, help, labels } = family;
  let type = "gauge";
  let lines = "";
  for (const { values, of } of family) {
    const set = [`system="${escaped(system)}"`];
    for (const [i, label] of labels.entries()) set.push(`${label}="${escaped(values[i] as string)}"`);
    if (of instanceof Histogram) {
      type = "histogram";
      lines += renderHistogram(name, set.join(","), of);
    } else {
      if (of instanceof Counter) type = "counter";
      lines += `${name}{${set.join(",")}} ${of.value}\n`;
    }
  }
  return lines === "" ? "" : `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines}`;
}

function renderHistogram(name: string, set: string, { bounds, counts, sum }: Histogram): string {
  let total = 0;
  let lines = "";
  for (const [i, n] of counts.entries()) {
    total += n;
    lines += `${name}_bucket{${set},le="${i < bounds.length ? bounds[i] : "+Inf"}"} ${total}\n`;
  }
  return `${lines}${name}_sum{${set}} ${sum}\n${name}_count{${set}} ${total}\n`;
}

/** A label value, with the three characters escaped that the format names. */
function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (one) => (one === "\n" ? "\\n" : `\\${one}`));
}
