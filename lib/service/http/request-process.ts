// The process of one HTTP request.

import type { BodyContext } from "../../process/body-context.js";
import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import { text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { isThenable } from "../../process/thenable.js";
import { type FetchAdapter, statusOf } from "./fetch-adapter.js";
import type { FetchHandler, NodeListener } from "./http-server.js";
import type { RequestExchange } from "./metrics.js";
import {
  answer,
  discardRest,
  type IncomingMessage,
  isGone,
  isTooLong,
  type ServerResponse,
} from "./node-http.js";

/** The second argument of a handler, after the request. */
export interface RequestContext {
  /** The process of this request. `ctx.signal` is aborted when the request is cut off because the server ends. */
  readonly ctx: Context<never>;
  /** Aborted when the server stops accepting: streams that would never end should end soon. */
  readonly draining: AbortSignal;
  /** The request of Node. */
  readonly incoming: IncomingMessage;
  /** The response of Node. */
  readonly outgoing: ServerResponse;
  /**
   * Says which route of your application answers the request, such as `/orders/:id`: metrics tell routes apart, and never paths. A
   * router knows it: `routePath(c)` of Hono, `request.route.path` of Express. Default: no route.
   *
   * @throws OptionError when the route is no text
   * @example
   * const shop = httpServer((_incoming, outgoing, context) => {
   *   context.setRoute("/orders/:id");
   *   outgoing.end("paid");
   * }, { port: 8_080 });
   */
  setRoute(route: string): void;
}

/** The settings that the processes of requests share. */
export interface RequestHandling {
  readonly handler: FetchHandler | NodeListener;
  /** Present for a fetch handler. */
  readonly adapter: FetchAdapter | undefined;
  readonly maxBodyBytes: number;
  readonly kernel: Kernel;
  /** The process of the server. */
  readonly server: Pid;
  /** Telemetry does not follow the request. */
  readonly isHelper: boolean;
}

/**
 * Handles a request, and ends when its response is written or its client is gone, and the handler is done. A client that is gone aborts
 * `request.signal`; the handler goes on otherwise.
 */
export function handleRequest(
  ctx: BodyContext<never>,
  handling: RequestHandling,
  exchange: RequestExchange,
  draining: AbortSignal,
): Promise<void> {
  // One promise for all that is waited for: each one costs, and each await more.
  return new Promise((resolve, reject) => {
    const { outgoing } = exchange;
    let isHandled = false;
    const handled = (): void => {
      isHandled = true;
      if (outgoing.destroyed) resolve();
    };
    outgoing.on("close", () => {
      if (isHandled) resolve();
    });
    // The client may disconnect while the response is written. Then there is no client left to answer.
    outgoing.on("error", ignore);
    const result = handle(ctx, handling, exchange, draining);
    if (isThenable(result)) result.then(handled, reject);
    else handled();
  });
}

function ignore(): void {}

function handle(
  ctx: BodyContext<never>,
  { handler, adapter, maxBodyBytes, kernel, server, isHelper }: RequestHandling,
  exchange: RequestExchange,
  draining: AbortSignal,
): unknown {
  const { incoming, outgoing } = exchange;
  const setRoute = (route: string): void => {
    exchange.route = text("route", route);
  };
  const context: RequestContext = { ctx, draining, incoming, outgoing, setRoute };
  const run = (): unknown => {
    if (isTooLong(incoming, maxBodyBytes)) return answer(outgoing, 413, { connection: "close" });
    if (typeof handler === "function") return handler(incoming, outgoing, context);
    return fetchAndRespond(handler, adapter as FetchAdapter, maxBodyBytes, context);
  };
  const { taps } = kernel;
  if (taps === undefined || isHelper) return run();
  const tap = taps.requested(ctx.self.process as Process, server, incoming.method ?? "", incoming.headers);
  if (tap === undefined) return run();
  outgoing.once("close", () => {
    const status = outgoing.headersSent ? outgoing.statusCode : undefined;
    tap.ended(outgoing.writableFinished ? "answered" : "gone", status, exchange.route);
  });
  return tap.around(run);
}

function fetchAndRespond(
  handler: FetchHandler,
  adapter: FetchAdapter,
  maxBodyBytes: number,
  context: RequestContext,
): unknown {
  const { incoming, outgoing } = context;
  const request = adapter.receive(incoming, outgoing, maxBodyBytes);
  if (request === undefined) return answer(outgoing, 400);
  const respond = (response: unknown): unknown => {
    if (!isResponse(response)) throw new TypeError("the handler returned no Response");
    if (outgoing.destroyed) return undefined;
    const discard = (): void => discardRest(incoming, maxBodyBytes);
    const sent = adapter.send(outgoing, response);
    return sent === undefined ? discard() : sent.then(discard);
  };
  const fail = (error: unknown): void => {
    // Neither what a client sends nor its going away is a failure of the handler. A body that is too long has ended its stream, as a
    // client that goes away does, but that client waits for the answer.
    const status = statusOf(error);
    if (isGone(incoming, outgoing, error) && (status === undefined || outgoing.destroyed)) return;
    if (status === undefined) throw error;
    answer(outgoing, status, status === 413 ? { connection: "close" } : {});
  };
  try {
    const response: unknown = handler.fetch(request, context);
    const sent = isThenable(response) ? response.then(respond) : respond(response);
    return isThenable(sent) ? sent.then(undefined, fail) : sent;
  } catch (error) {
    return fail(error);
  }
}

/** Frameworks have responses of their own that look like those of fetch. */
function isResponse(value: unknown): value is Response {
  const { status, headers } = (value ?? {}) as Partial<Response>;
  return typeof status === "number" && typeof headers?.getSetCookie === "function";
}
