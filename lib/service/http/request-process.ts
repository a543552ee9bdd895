// The process of one HTTP request.

import type { BodyContext } from "../../process/body-context.js";
import type { Context } from "../../process/context.js";
import type { Kernel } from "../../process/kernel.js";
import { text } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { FetchHandler, NodeListener } from "./http-server.js";
import type { RequestExchange } from "./metrics.js";
import {
  answer,
  type ClientRequest,
  discardRest,
  type FetchAdapter,
  type IncomingMessage,
  isGone,
  isTooLong,
  requestOf,
  type ServerResponse,
} from "./node-http.js";

/** What a handler gets beside the request. */
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

/** What the processes of requests have in common. */
export interface RequestHandling {
  readonly handler: FetchHandler | NodeListener;
  /** Present for a fetch handler. */
  readonly adapter: FetchAdapter | undefined;
  readonly maxBodyBytes: number;
  readonly kernel: Kernel;
  /** The process of the server. */
  readonly server: Pid;
}

/**
 * Handles a request, and ends when its response is written or its client is gone. A client that is gone aborts `request.signal`; the
 * handler goes on otherwise.
 */
export async function handleRequest(
  ctx: BodyContext<never>,
  handling: RequestHandling,
  exchange: RequestExchange,
  draining: AbortSignal,
): Promise<void> {
  const { handler, adapter, maxBodyBytes } = handling;
  const { incoming, outgoing } = exchange;
  const closed = new Promise<void>((resolve) => outgoing.once("close", () => resolve()));
  // The client may be gone while the response is written: nobody is left to be told.
  outgoing.on("error", () => undefined);
  const setRoute = (route: string): void => {
    exchange.route = text("route", route);
  };
  const context: RequestContext = { ctx, draining, incoming, outgoing, setRoute };
  const handle = (): unknown => {
    if (isTooLong(incoming, maxBodyBytes)) return answer(outgoing, 413, { connection: "close" });
    if (typeof handler === "function") return handler(incoming, outgoing, context);
    return fetchAndRespond(handler, adapter as FetchAdapter, maxBodyBytes, context);
  };
  const { taps } = handling.kernel;
  const tap = taps?.requested(
    ctx.self.process as Process,
    handling.server,
    incoming.method ?? "",
    incoming.headers,
  );
  if (tap === undefined) await handle();
  else {
    outgoing.once("close", () => {
      const status = outgoing.headersSent ? outgoing.statusCode : undefined;
      tap.ended(outgoing.writableFinished ? "answered" : "gone", status, exchange.route);
    });
    await tap.around(handle);
  }
  if (!outgoing.destroyed) await closed;
}

async function fetchAndRespond(
  handler: FetchHandler,
  adapter: FetchAdapter,
  maxBodyBytes: number,
  context: RequestContext,
): Promise<void> {
  const { incoming, outgoing } = context;
  let client: ClientRequest;
  try {
    client = requestOf(adapter, incoming, outgoing, maxBodyBytes);
  } catch {
    answer(outgoing, 400);
    return;
  }
  try {
    const response: unknown = await handler.fetch(client.request, context);
    if (!isResponse(response)) throw new TypeError("the handler returned no Response");
    if (outgoing.destroyed) return;
    await adapter.sendNodeResponse(outgoing, response);
    discardRest(incoming, maxBodyBytes);
  } catch (error) {
    // Neither what a client sends nor its going away is a failure of the handler.
    if (isGone(incoming, outgoing, error)) return;
    const status = client.statusOf(error);
    if (status === undefined) throw error;
    answer(outgoing, status, status === 413 ? { connection: "close" } : {});
  }
}

/** Frameworks have responses of their own that look like those of fetch. */
function isResponse(value: unknown): value is Response {
  const { status, headers } = (value ?? {}) as Partial<Response>;
  return typeof status === "number" && typeof headers?.getSetCookie === "function";
}
