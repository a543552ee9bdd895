// The metrics of a system on a page for Prometheus, for those without a collector.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { kernelOf, oneOf } from "../../process/options.js";
import { outside } from "../../process/origin.js";
import type { ProcessSystem } from "../../process/system.js";
import { isThenable } from "../../process/thenable.js";
import { KERNEL_METRICS } from "./catalogue.js";
import { checkExchange, checkRequest } from "./check-request.js";
import { CONTENT_TYPES, formatFor, type MetricsFormat, page } from "./exposition.js";
import { mailboxDepths } from "./gauges.js";
import { readHosts } from "./host-metrics.js";
import { checkMetrics, type MetricsOptions, SystemMetrics } from "./metrics.js";
import { readNodes } from "./node-metrics.js";
import {
  type CounterMetric,
  type GaugeMetric,
  type HistogramMetric,
  OwnCounter,
  OwnGauge,
  type OwnGaugeOptions,
  OwnHistogram,
  type OwnHistogramOptions,
  type OwnMetricOptions,
} from "./own-metrics.js";
import type { Recorder } from "./recorder.js";
import { MetricRegistry } from "./registry.js";
import { openRuntime, type RuntimeProbe } from "./runtime.js";
import { readGauges, type TakeGauge } from "./sources.js";
import { type Hold, hold } from "./telemetry.js";

/** The part of Node's request that the metrics endpoint uses. */
export interface ScrapeRequest {
  /** The method. */
  readonly method?: string | undefined;
  /** The headers, with lower-case names. */
  readonly headers: { readonly accept?: string | undefined };
}

/** The part of Node's response that the metrics endpoint uses. */
export interface ScrapeResponse {
  /** Writes the status and the headers. */
  writeHead(status: number, headers: Record<string, string>): unknown;
  /** Writes the body and ends the response. */
  end(body?: string): unknown;
}

/** The metrics of one system. {@link prometheus} makes it. */
export class PrometheusMetrics implements AsyncDisposable {
  /** The content type of {@link PrometheusMetrics.text}, for the answer to a scrape. */
  readonly contentType: string = CONTENT_TYPES.prometheus;
  readonly #kernel: Kernel;
  readonly #hold: Hold;
  readonly #metrics: SystemMetrics;
  readonly #registry: MetricRegistry;
  readonly #bounds: readonly number[];
  readonly #runtime: RuntimeProbe | undefined;
  /** Gauges of the user that are read before each page. */
  readonly #read: OwnGauge[] = [];
  readonly #stop = (): void => this.#runtime?.close();

  /** @internal */
  constructor(kernel: Kernel, held: Hold, options: Required<MetricsOptions>) {
    const { timeOneIn, bucketsSeconds, runtime } = options;
    const { recorder } = held;
    this.#kernel = kernel;
    this.#hold = held;
    this.#bounds = bucketsSeconds;
    this.#registry = new MetricRegistry(bucketsSeconds);
    this.#metrics = new SystemMetrics(this.#registry, timeOneIn, () => recorder.now());
    recorder.meters = this.#metrics;
    recorder.sinks.add(this.#registry);
    recorder.onClose.add(this.#stop);
    this.#runtime = runtime ? openRuntime(kernel.env, this.#registry) : undefined;
  }

  /**
   * All metrics as they are now, in Prometheus' format or in that of OpenMetrics. Gauges are counted when this is called.
   *
   * @example
   * const page = prometheus(system).text();
   */
  text(format: MetricsFormat = "prometheus"): string {
    oneOf("format", format, ["prometheus", "openmetrics"]);
    const { recorder } = this.#hold;
    const failed = (error: unknown): void => recorder.complain("a gauge", error);
    for (const gauge of this.#read) {
      try {
        const result: unknown = outside(() => gauge.read?.(gauge as GaugeMetric<never>));
        if (isThenable(result)) Promise.resolve(result).then(undefined, failed);
      } catch (error) {
        failed(error);
      }
    }
    const families = this.#registry.read((take) => {
      readKernel(this.#kernel, recorder, take);
      readGauges(this.#kernel, take);
      readHosts(this.#kernel, take);
      readNodes(this.#kernel, take);
      this.#runtime?.gauges(take);
    });
    return page(families, this.#kernel.node.name, format);
  }

  /**
   * Answers a scrape: 200 with the page, in the format that the client accepts; 405 for methods other than GET and HEAD. Every client
   * sees the page: serve it at an address that outsiders do not reach.
   *
   * @example
   * const Ops = httpServer(metrics, { port: 9_464, host: "127.0.0.1" });
   */
  readonly fetch = async (request: Request): Promise<Response> => {
    checkRequest(request);
    const { method } = request;
    const { status, headers, body } = this.#answer(method, request.headers.get("accept"));
    return new Response(method === "HEAD" ? null : body, { status, headers });
  };

  /** The same for a listener of node:http: `createServer(metrics.listener)`. */
  readonly listener = async (incoming: ScrapeRequest, outgoing: ScrapeResponse): Promise<void> => {
    checkExchange(incoming, outgoing);
    const { method = "GET", headers: asked } = incoming;
    if (typeof asked !== "object") throw new OptionError("incoming.headers", asked, "an object of headers");
    const { status, headers, body } = this.#answer(method, asked.accept);
    outgoing.writeHead(status, headers);
    outgoing.end(method === "HEAD" ? undefined : body);
  };

  /**
   * A counter of your own, on the page of this system. A metric has 200 combinations of labels at most, and counts the others as
   * `other`: use names and kinds as labels, never ids.
   *
   * @throws OptionError when an option is not what it has to be, or the name is taken
   * @example
   * const paid = metrics.counter({ name: "orders_paid", help: "Orders that were paid.", labels: ["currency"] });
   * paid.add(1, { currency: "EUR" });
   */
  counter<const Label extends string = never>(options: OwnMetricOptions<Label>): CounterMetric<Label> {
    return new OwnCounter(this.#registry, options as never) as CounterMetric<string> as CounterMetric<Label>;
  }

  /**
   * A gauge of your own, on the page of this system.
   *
   * @throws OptionError when an option is not what it has to be, or the name is taken
   * @example
   * const open = metrics.gauge({ name: "baskets_open", help: "Baskets that are open." });
   * open.set(12);
   */
  gauge<const Label extends string = never>(options: OwnGaugeOptions<Label>): GaugeMetric<Label> {
    const gauge = new OwnGauge(this.#registry, options as never);
    if (gauge.read !== undefined) this.#read.push(gauge);
    return gauge as GaugeMetric<string> as GaugeMetric<Label>;
  }

  /**
   * A histogram of your own, on the page of this system.
   *
   * @throws OptionError when an option is not what it has to be, or the name is taken
   * @example
   * const sizes = metrics.histogram({ name: "basket_items", help: "Items in a basket.", buckets: [1, 5, 20] });
   * sizes.observe(3);
   */
  histogram<const Label extends string = never>(options: OwnHistogramOptions<Label>): HistogramMetric<Label> {
    const histogram = new OwnHistogram(this.#registry, options as never, this.#bounds);
    return histogram as HistogramMetric<string> as HistogramMetric<Label>;
  }

  /** Stops counting. The page stays as it is, and metrics of your own go on. */
  close(): void {
    const { recorder } = this.#hold;
    if (recorder.meters === this.#metrics) recorder.meters = undefined;
    recorder.sinks.delete(this.#registry);
    recorder.onClose.delete(this.#stop);
    this.#stop();
    this.#hold.release();
  }

  /** Stops counting at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  #answer(method: string, accept: string | null | undefined): Answer {
    if (method !== "GET" && method !== "HEAD")
      return {
        status: 405,
        headers: { allow: "GET, HEAD", "content-type": "text/plain" },
        body: "GET or HEAD\n",
      };
    const format = formatFor(accept);
    const headers = { "content-type": CONTENT_TYPES[format], "cache-control": "no-store", vary: "accept" };
    return { status: 200, headers, body: this.text(format) };
  }
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Reads the values of all processes at this moment. */
function readKernel(kernel: Kernel, recorder: Recorder, take: TakeGauge): void {
  const of = KERNEL_METRICS;
  for (const { label, processes, depth, deepest } of mailboxDepths(kernel, recorder)) {
    take(of.processes, processes, label);
    take(of.depth, depth, label);
    take(of.deepest, deepest, label);
  }
  // A process counts what it handles. Those that have ended are counted already.
  for (let process = kernel.newest; process !== undefined; process = process.next)
    take(of.handled, process.handled, recorder.labels.of(process.pid));
  take(of.deadLetters, kernel.events.deadLetters);
}

/**
 * Counts and times what happens in a system from now on, for Prometheus: processes, calls, dispatches, flows, pools, guards, HTTP
 * servers, and what the host says of its event loop and memory. Each metric has 200 combinations of labels at most, and counts the
 * others as `other`. Labels are names that your code gives to definitions, never keys or pids. Works on every host.
 *
 * @throws OptionError
 * @see https://prometheus.io/docs/instrumenting/exposition_formats/
 * @example
 * await using metrics = prometheus(system);
 * const Ops = httpServer(metrics, { port: 9_464, host: "127.0.0.1" });
 */
export function prometheus(system: ProcessSystem, options: MetricsOptions = {}): PrometheusMetrics {
  const kernel = kernelOf(system);
  const checked = checkMetrics(options);
  const held = hold(kernel);
  if (held.recorder.meters === undefined) return new PrometheusMetrics(kernel, held, checked);
  held.release();
  throw new OptionError("system", system.name, "a system that has no metrics yet: use those, or close them");
}
