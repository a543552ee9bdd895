// The counts and times of an HTTP server for the metrics of its system. Names are those of OpenTelemetry's conventions for HTTP.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Instruments } from "../telemetry/instruments.js";
import { addGauges, type GaugeSource, type TakeGauge } from "../telemetry/sources.js";
import type { IncomingMessage, ServerResponse } from "./node-http.js";

/** In the order of the page. */
export const HTTP_METRICS: Instruments<"active" | "duration"> = {
  active: {
    name: "http.server.active_requests",
    kind: "gauge",
    unit: "{request}",
    help: "Requests in flight, by the label of their server.",
    labels: ["server"],
  },
  duration: {
    name: "http.server.request.duration",
    kind: "histogram",
    unit: "s",
    help: "From the arrival of a request to the end of its response, or to the end of its connection.",
    labels: ["http.request.method", "http.route", "http.response.status_class"],
    // Routes times methods times classes; all of them are names in the code of the service.
    maxSeries: 1_000,
  },
};

/** Methods that are counted by their name. A client may send any word. */
const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"]);

/** A request and its response. */
export interface RequestExchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Which route answers the request, as its handler says. */
  route: string | undefined;
}

/** The requests of one server. */
export class HttpMeter implements GaugeSource {
  readonly #kernel: Kernel;
  readonly #pid: Pid;
  readonly #inFlight: () => number;

  constructor(kernel: Kernel, pid: Pid, inFlight: () => number) {
    this.#kernel = kernel;
    this.#pid = pid;
    this.#inFlight = inFlight;
    addGauges(kernel, this);
  }

  gauges(take: TakeGauge): void {
    if (this.#pid.process !== undefined)
      take(HTTP_METRICS.active, this.#inFlight(), this.#pid.label ?? "http server");
  }

  /** A request has come. */
  arrived(exchange: RequestExchange): void {
    const { taps, env } = this.#kernel;
    if (taps === undefined) return;
    const began = env.now();
    exchange.outgoing.once("close", () => {
      const seconds = (env.now() - began) / 1_000;
      this.#kernel.taps?.observe(HTTP_METRICS.duration, seconds, ...labelsOf(exchange));
    });
  }
}

function labelsOf({ incoming, outgoing, route }: RequestExchange): readonly string[] {
  const { method = "" } = incoming;
  // A client that is gone before the answer has no status.
  const status = outgoing.headersSent ? `${Math.floor(outgoing.statusCode / 100)}xx` : "none";
  return [METHODS.has(method) ? method : "_OTHER", route ?? "", status];
}
