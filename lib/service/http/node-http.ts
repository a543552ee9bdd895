// Node's HTTP server, and the responses that it sends without a handler. The only file of this room that reaches Node.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
// Those of node:http, and those for TLS.
import type { ServerOptions } from "node:https";
import { node } from "../../process/node-modules.js";

export type { IncomingMessage, Server, ServerOptions, ServerResponse };

/** Makes a server of Node: `createServer` of node:http, or that of node:https with its key and certificate in the options. */
export type CreateServer = (
  options: ServerOptions,
  listener: (incoming: IncomingMessage, outgoing: ServerResponse) => void,
) => Server;

/** `createServer` of node:http. */
export const createHttpServer: CreateServer = (options, listener) =>
  node.http.createServer(options, listener);

/** Where a server listens. */
export interface HttpAddress {
  /** The address, such as `127.0.0.1` or `::`. */
  readonly host: string;
  /** The port; the one that the operating system chose for port 0. */
  readonly port: number;
}

/** Resolves when the server listens. Rejects when it cannot, for instance because the port is taken. */
export function listen(server: Server, port: number, host: string | undefined): Promise<HttpAddress> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, ...(host === undefined ? {} : { host }) }, () => {
      server.off("error", reject);
      const { address, port: chosen } = server.address() as { address: string; port: number };
      resolve({ host: address, port: chosen });
    });
  });
}

/**
 * Reads and discards the unread rest of a request's body after the answer, so that the client gets the answer and can use the
 * connection again. A body longer than the limit is cut off.
 */
export function discardRest(incoming: IncomingMessage, maxBodyBytes: number): void {
  // Of a body that has come to its end, only what is in the buffer holds the connection.
  if ((incoming.complete && incoming.readableLength === 0) || incoming.destroyed) return;
  let left = maxBodyBytes;
  // Another reader of the body would hold the rest back.
  incoming.removeAllListeners("data");
  incoming.on("data", (chunk: Uint8Array) => {
    left -= chunk.length;
    if (left < 0) incoming.destroy();
  });
  incoming.resume();
}

/** Whether a body is too long by what its client says. */
export function isTooLong({ headers }: IncomingMessage, maxBodyBytes: number): boolean {
  return Number(headers["content-length"] ?? 0) > maxBodyBytes;
}

/** Whether the client disconnected before it had its response, and `error` is the read or write error that this causes. */
export function isGone(incoming: IncomingMessage, outgoing: ServerResponse, error: unknown): boolean {
  if (outgoing.writableFinished || !(outgoing.destroyed || incoming.destroyed)) return false;
  if (error === incoming.errored) return true;
  const { name, code } = (typeof error === "object" && error !== null ? error : {}) as Partial<
    Record<string, unknown>
  >;
  return name === "AbortError" || code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE";
}

/** Answers with a status and its name alone, if nothing was written so far. Otherwise the client gets half a response. */
export function answer(outgoing: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  if (outgoing.writableEnded) return;
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
  // Node would use what is left of a response that failed: a reason phrase that is none, the length of another body.
  const reason = reasonPhrase(status);
  const body = `${reason}\n`;
  const own = { "content-type": "text/plain", "content-length": body.length };
  outgoing.writeHead(status, reason, { ...own, ...headers }).end(body);
}

/** The name of a status, as the first line of a response has it. */
export function reasonPhrase(status: number): string {
  return node.http.STATUS_CODES[status] ?? "unknown";
}

/** Accepts no more connections. Unlike `close()` of an HTTP server it leaves idle ones open. */
export function stopAccepting(server: Server): void {
  node.net.Server.prototype.close.call(server);
}
