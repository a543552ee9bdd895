// The process of one HTTP request.

import type { BodyContext } from "../../process/body-context.js";
import type { Context } from "../../process/context.js";
import type { FetchHandler, NodeListener } from "./http-server.js";
import { answer, type IncomingMessage, requestOf, respond, type ServerResponse } from "./node-http.js";

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
}

/**
 * Handles a request, and ends when its response is written or its client is gone. A client that is gone aborts `request.signal`; the
 * handler goes on otherwise.
 */
export async function handleRequest(
  ctx: BodyContext<never>,
  handler: FetchHandler | NodeListener,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  draining: AbortSignal,
): Promise<void> {
  const closed = new Promise<void>((resolve) => outgoing.once("close", () => resolve()));
  // The client may be gone while the response is written: nobody is left to be told.
  outgoing.on("error", () => undefined);
  const context: RequestContext = { ctx, draining, incoming, outgoing };
  if (typeof handler === "function") await handler(incoming, outgoing, context);
  else await fetchAndRespond(handler, context);
  if (!outgoing.destroyed) await closed;
}

async function fetchAndRespond(handler: FetchHandler, context: RequestContext): Promise<void> {
  const { incoming, outgoing } = context;
  const gone = new AbortController();
  const abort = (): void => {
    if (!outgoing.writableFinished) gone.abort(new Error("the client is gone"));
  };
  // It may be gone before this process has begun.
  if (outgoing.destroyed) abort();
  else outgoing.once("close", abort);
  let request: Request;
  try {
    request = requestOf(incoming, gone.signal);
  } catch {
    answer(outgoing, 400);
    return;
  }
  const response: unknown = await handler.fetch(request, context);
  if (!isResponse(response)) throw new TypeError("the handler returned no Response");
  if (!outgoing.destroyed) await respond(response, outgoing);
}

/** Frameworks have responses of their own that look like those of fetch. */
function isResponse(value: unknown): value is Response {
  const { status, headers } = (value ?? {}) as Partial<Response>;
  return typeof status === "number" && typeof headers?.getSetCookie === "function";
}
