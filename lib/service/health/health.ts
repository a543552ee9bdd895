// The health of a service as its users read it: as an object, or over HTTP.

import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { CallOptions } from "../../process/request.js";
import { checkExchange, checkRequest } from "../telemetry/check-request.js";
import type { HealthMessage } from "./health-process.js";
import type { HealthSettings } from "./options.js";
import { type ClusterHealth, type Findings, type HealthReport, reportOn } from "./report.js";

/** The source from which the health of a service is read. */
export interface HealthSource {
  readonly name: string;
  readonly kernel: Kernel;
  readonly settings: HealthSettings;
  phase(): string;
  /** The place of the service in its cluster, if it has joined one. */
  cluster?(): ClusterHealth | undefined;
  /** The process that reads, while there is one. */
  pid(): Pid<HealthMessage> | undefined;
}

/** Options of a reading. */
export interface HealthReadOptions {
  /** The part of the tree, by its path of ids, such as `floor/clerk`. Default: the whole. */
  readonly part?: string;
  /** Ends the wait early. */
  readonly signal?: AbortSignal;
}

/** Options of a reading of the whole. */
export interface WholeReadOptions {
  /** Absent. */
  readonly part?: never;
  /** Ends the wait early. */
  readonly signal?: AbortSignal;
}

/** The part of Node's request that the health endpoint uses. */
export interface RequestLine {
  /** The method. */
  readonly method?: string | undefined;
  /** The path with the query. */
  readonly url?: string | undefined;
}

/** The part of Node's response that the health endpoint uses. */
export interface ResponseWriter {
  /** Writes the status and the headers. */
  writeHead(status: number, headers: Record<string, string>): unknown;
  /** Writes the body and ends the response. */
  end(body?: string): unknown;
}

/** The caller of a reading waits so much longer than the reading may take: the reading has limits of its own. */
const GRACE_MS = 1_000;

/** The findings when the process that reads the health is not there. */
const NOTHING: Findings = { parts: [], checks: [], eventLoopDelayMs: 0 };

/**
 * Liveness and readiness of a service, as an object or over HTTP. A reading is bounded in time, however its parts and checks hang.
 *
 * @example
 * const service = run((_config, { health }) => httpServer(health, { port: 9_000 }), { name: "shop" });
 * const { ready, reasons } = await service.health.read();
 */
export class Health {
  readonly #source: HealthSource;

  /** @internal */
  constructor(source: HealthSource) {
    this.#source = source;
  }

  /**
   * Reads the health of the service, or of one part of it.
   *
   * @returns undefined when the tree has no such part
   * @throws OptionError, or the reason of `signal`
   */
  read(options?: WholeReadOptions): Promise<HealthReport>;
  read(options: HealthReadOptions): Promise<HealthReport | undefined>;
  read(options: HealthReadOptions | WholeReadOptions = {}): Promise<HealthReport | undefined> {
    only("", options, ["part", "signal"]);
    const { part, signal } = options;
    return this.#read(part, signal, false);
  }

  async #read(
    part: string | undefined,
    signal: AbortSignal | undefined,
    isLive: boolean,
  ): Promise<HealthReport | undefined> {
    const { name, settings } = this.#source;
    const path = part === undefined ? "" : text("part", part);
    const findings = await this.#findings(signal, isLive);
    // The phase is read last: a report never says `ready` after the stop has begun.
    const phase = this.#source.phase();
    const report = reportOn(name, phase, path, findings ?? NOTHING, settings, this.#source.cluster?.());
    if (findings !== undefined || report === undefined || !report.live) return report;
    return {
      ...report,
      live: false,
      ready: false,
      reasons: [...report.reasons, "the health was not read in time"],
    };
  }

  /**
   * Answers a request for the health: 200 or 503, with a JSON body. A path that ends with `/live` or `/livez` asks whether the
   * service works, and runs the checks of liveness alone; any other path whether it is ready. `?part=floor/clerk` asks for a part; 404 when there is none.
   */
  readonly fetch = async (request: Request): Promise<Response> => {
    checkRequest(request);
    const { status, body, headers } = await this.#answer(request.method, request.url);
    return new Response(request.method === "HEAD" ? null : body, { status, headers });
  };

  /** The same for a listener of node:http: `createServer(service.health.listener)`. */
  readonly listener = async (incoming: RequestLine, outgoing: ResponseWriter): Promise<void> => {
    checkExchange(incoming, outgoing);
    const { method = "GET", url = "/" } = incoming;
    const { status, body, headers } = await this.#answer(method, url);
    outgoing.writeHead(status, headers);
    outgoing.end(method === "HEAD" ? undefined : body);
  };

  async #findings(signal: AbortSignal | undefined, isLive: boolean): Promise<Findings | undefined> {
    const { kernel, settings } = this.#source;
    const pid = this.#source.pid();
    signal?.throwIfAborted();
    if (pid === undefined || kernel.stopped) return NOTHING;
    const longest = Math.max(settings.timeoutMs, ...settings.checks.map(({ timeoutMs }) => timeoutMs));
    const options: CallOptions = {
      timeoutMs: longest + GRACE_MS,
      ...(signal === undefined ? {} : { signal }),
    };
    try {
      return await kernel.calls.call(
        undefined,
        pid,
        (replyTo): HealthMessage => ({ replyTo, isLive }),
        options,
      );
    } catch (error) {
      if (signal?.aborted) throw error;
      return undefined;
    }
  }

  async #answer(method: string, url: string): Promise<Answer> {
    if (method !== "GET" && method !== "HEAD")
      return answer(405, { error: "GET or HEAD" }, { allow: "GET, HEAD" });
    const asked = new URL(url.startsWith("/") ? `http://health${url}` : url, "http://health");
    const part = asked.searchParams.get("part") || undefined;
    const isLive = /\/livez?\/?$/.test(asked.pathname);
    const report = await this.#read(part, undefined, isLive);
    if (report === undefined) return answer(404, { error: `there is no part ${part}` });
    const { parts, checks, ...rest } = report;
    const body = this.#source.settings.details
      ? report
      : { ...rest, checks: checks.map(({ name, ok }) => ({ name, ok })) };
    if (!isLive) return answer(report.ready ? 200 : 503, body);
    // Readiness was not asked for.
    const { ready: _unknown, ...alive } = body;
    return answer(report.live ? 200 : 503, alive);
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Record<string, string>;
}

function answer(status: number, body: object, headers: Record<string, string> = {}): Answer {
  const given = { "content-type": "application/json", "cache-control": "no-store", ...headers };
  return { status, body: `${JSON.stringify(body)}\n`, headers: given };
}
