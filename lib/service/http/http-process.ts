// The process of an HTTP server: it turns the events of Node's server into events of http-machine.ts, and performs the effects.

import { type Body, type Callbacks, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { AsyncContext } from "../../process/environment.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ExitReason, formatReason, isOrderly } from "../../process/reason.js";
import { pathOf } from "../../process/report.js";
import type { ReplyTo } from "../../process/request.js";
import { captureSenderContext } from "../../process/sender-context.js";
import { framesOf } from "../../process/show.js";
import { type FetchAdapter, loadFetchAdapter } from "./fetch-adapter.js";
import { decide, type Effect, type Event, initial, type State } from "./http-machine.js";
import type { FetchHandler, NodeListener } from "./http-server.js";
import { HttpMeter, type RequestExchange } from "./metrics.js";
import {
  answer,
  type CreateServer,
  type HttpAddress,
  type IncomingMessage,
  listen,
  type Server,
  type ServerOptions,
  type ServerResponse,
  stopAccepting,
} from "./node-http.js";
import { handleRequest } from "./request-process.js";

/** The messages of the process of an HTTP server. */
export interface HttpMessage {
  readonly type: "address";
  readonly replyTo: ReplyTo<HttpAddress>;
}

export interface HttpConfig {
  readonly handle: FetchHandler | NodeListener;
  /** It is the library's own: telemetry follows neither the server nor its requests. */
  readonly isHelper: boolean;
  readonly port: number;
  readonly host: string | undefined;
  readonly maxInFlight: number;
  readonly maxBodyBytes: number;
  readonly server: ServerOptions;
  readonly createServer: CreateServer;
  readonly onListening: ((address: HttpAddress) => void) | undefined;
}

/**
 * How long a stopping server keeps connections on which no request is in flight: longer than a request is on its way. A client that has
 * sent one meanwhile gets its answer, and learns by the answer that the connection ends.
 */
const LINGER_MS = 250;

const REQUEST: Event = { type: "request" };
const REQUEST_ENDED: Event = { type: "request-ended" };
const LINGERED: Event = { type: "lingered" };

export function httpBehaviour(config: HttpConfig): Callbacks<HttpMessage> {
  let process: HttpProcess;
  return {
    isHelper: config.isHelper,
    init: (ctx) => {
      process = new HttpProcess(ctx, config);
      return process.listen();
    },
    handle: (ctx, { replyTo }) => ctx.reply(replyTo, process.address as HttpAddress),
    signal: (_ctx, signal) => process.onSignal(signal),
    parentExit: (_ctx, reason) => process.dispatch({ type: "stop", reason }),
  };
}

class HttpProcess {
  address: HttpAddress | undefined;
  readonly #ctx: Context<HttpMessage>;
  readonly #config: HttpConfig;
  readonly #kernel: Kernel;
  readonly #server: Server;
  readonly #loop: EffectLoop<State, Event, Effect>;
  readonly #requests = new Map<Pid, RequestExchange>();
  readonly #draining = new AbortController();
  /** The request that the machine decides on. */
  #arrived: RequestExchange | undefined;
  /** The asynchronous context of the host for that request, such as a span of its own. */
  #context: AsyncContext | undefined;
  #end: Stop | undefined;
  #connections = 0;
  #lingers = false;
  #adapter: FetchAdapter | undefined;
  /** The service will stop: each connection ends with its next response. */
  #isDraining = false;

  constructor(ctx: Context<HttpMessage>, config: HttpConfig) {
    this.#ctx = ctx;
    this.#config = config;
    this.#loop = new EffectLoop<State, Event, Effect>(initial(config.maxInFlight), decide, (effect) =>
      this.#perform(effect),
    );
    const { kernel } = ctx.self.process as Process;
    const { events } = kernel;
    const meter = new HttpMeter(kernel, ctx.self, () => this.#loop.state.inFlight);
    const arrive = ctx.wrap((incoming: IncomingMessage, outgoing: ServerResponse) => {
      this.#arrived = { incoming, outgoing, route: undefined };
      if (!config.isHelper) meter.arrived(this.#arrived);
      if (this.#isDraining) closeAfter(outgoing);
      this.dispatch(REQUEST);
    });
    this.#kernel = kernel;
    const server = config.createServer(config.server, (incoming, outgoing) => {
      this.#context = captureSenderContext(kernel);
      arrive(incoming, outgoing);
    });
    this.#server = server;
    server.on("connection", (socket) => {
      this.#connections++;
      socket.once("close", () => {
        this.#connections--;
        if (this.#lingers && this.#connections === 0) this.#lingered();
      });
    });
    // The client opens its next connection elsewhere, before this one is closed under a request.
    const onPhase = ({ phase }: { readonly phase: string }): void => {
      this.#isDraining ||= phase === "draining";
    };
    events.on("application", onPhase);
    // However this process ends, nothing of it stays open.
    ctx.signal.addEventListener("abort", () => {
      events.off("application", onPhase);
      server.close();
      server.closeAllConnections();
    });
  }

  async listen(): Promise<void> {
    const ctx = this.#ctx;
    const config = this.#config;
    const kernel = this.#kernel;
    const server = this.#server;
    if (typeof config.handle !== "function") this.#adapter = await loadFetchAdapter();
    // Connections run in the context of the system, not in that of the code that started the server.
    this.address = await kernel.enter(() => listen(server, config.port, config.host));
    const fail = (error: unknown): void => {
      throw error;
    };
    server.on("error", ctx.wrap(fail));
    config.onListening?.(this.address);
  }

  dispatch(event: Event): Stop | undefined {
    this.#loop.dispatch(event);
    return this.#end;
  }

  onSignal(signal: Signal): Stop | undefined {
    if (signal.type !== "exit") return undefined;
    const exchange = this.#requests.get(signal.from);
    if (exchange === undefined) return stop(signal.reason);
    this.#requests.delete(signal.from);
    if (!isOrderly(signal.reason)) this.#report(signal.from, exchange, signal.reason);
    // Nothing happens when the response is complete.
    answer(exchange.outgoing, 500);
    return this.dispatch(REQUEST_ENDED);
  }

  #perform(effect: Effect): unknown {
    const server = this.#server;
    const arrived = this.#arrived;
    switch (effect.type) {
      case "serve":
        return this.#serve(arrived as RequestExchange);
      case "turn-away":
        return answer((arrived as RequestExchange).outgoing, 503, {
          "retry-after": "1",
          connection: "close",
        });
      case "stop-accepting":
        this.#isDraining = true;
        // Connections that are made already are accepted first: closing would reset them.
        this.#afterIo(() => this.#linger());
        this.#draining.abort(new Error("the server stops"));
        for (const { outgoing } of this.#requests.values()) closeAfter(outgoing);
        return undefined;
      case "close-idle":
        return server.closeIdleConnections();
      case "exit":
        this.#end = stop(effect.reason);
        return undefined;
      default:
        return effect satisfies never;
    }
  }

  #afterIo(fn: () => void): void {
    const { scheduler } = this.#kernel;
    if (scheduler.drained === undefined) fn();
    else scheduler.drained(fn);
  }

  #linger(): void {
    stopAccepting(this.#server);
    this.#lingers = true;
    if (this.#connections === 0) this.#lingered();
    else if (this.#ctx.alive) this.#ctx.runAfter(LINGER_MS, () => this.dispatch(LINGERED));
  }

  #lingered(): void {
    (this.#ctx.self.process as Process | undefined)?.perform(() => this.dispatch(LINGERED));
  }

  #serve(exchange: RequestExchange): void {
    const { outgoing } = exchange;
    const { handle: handler, isHelper, maxBodyBytes } = this.#config;
    const ctx = this.#ctx;
    const kernel = this.#kernel;
    const context = this.#context;
    const adapter = this.#adapter;
    const { signal } = this.#draining;
    if (signal.aborted) closeAfter(outgoing);
    const handling = { handler, adapter, maxBodyBytes, kernel, server: ctx.self, isHelper };
    const body: Body<never> & Pick<Callbacks<never>, "isHelper"> = (own) =>
      handleRequest(own, handling, exchange, signal);
    if (isHelper) Object.assign(body, { isHelper });
    const spawn = (): Pid => ctx.spawnLink<never>(body, { label: "request" });
    const pid = context === undefined ? spawn() : context.runInAsyncScope(spawn);
    this.#requests.set(pid, exchange);
  }

  #report(pid: Pid, { incoming }: RequestExchange, reason: ExitReason): void {
    const { reports } = (this.#ctx.self.process as Process).kernel;
    if (!reports.admits("request", this.#ctx.self.id)) return;
    const error = reason.type === "crash" ? reason.error : undefined;
    reports.write({
      level: "error",
      event: "crash",
      pid,
      path: `${pathOf(this.#ctx.self)}/request`,
      reason,
      error,
      // A URL may hold secrets, and so may its path.
      text: `${pid} failed to answer a ${incoming.method}: ${formatReason(reason)}${framesOf(error)}`,
    });
  }
}

/** The connection ends with this response. */
function closeAfter(outgoing: ServerResponse): void {
  if (!outgoing.headersSent) outgoing.setHeader("connection", "close");
}
