// Node's HTTP server, and its requests and responses as those of fetch. The only file of this room that reaches Node.

import type { IncomingMessage, Server, ServerOptions, ServerResponse } from "node:http";
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
 * The request as fetch has it.
 *
 * @throws TypeError when there is no such request: a method that fetch does not know, or a host that is none
 */
export function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", rawHeaders } = incoming;
  const headers = new Headers();
  for (let i = 0; i < rawHeaders.length; i += 2)
    headers.append(rawHeaders[i] as string, rawHeaders[i + 1] as string);
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(urlOf(incoming), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: node.stream.Readable.toWeb(incoming) as ReadableStream, duplex: "half" } : {}),
  } as RequestInit);
}

/** A path that begins with two slashes stays a path. An absolute URL, as a proxy gets it, keeps its path alone. */
function urlOf({ url = "/", headers, socket }: IncomingMessage): URL {
  const scheme = "encrypted" in socket ? "https" : "http";
  const path = url.startsWith("/") ? url : URL.canParse(url) ? pathOf(new URL(url)) : "/";
  return new URL(`${scheme}://${headers.host ?? "localhost"}${path}`);
}

function pathOf({ pathname, search }: URL): string {
  return `${pathname}${search}`;
}

/** Writes a response of fetch. Resolves when all of it is written, or the client is gone. */
export async function respond(response: Response, outgoing: ServerResponse): Promise<void> {
  const { body, headers, status, statusText } = response;
  const cookies = headers.getSetCookie();
  for (const [name, value] of headers) if (name !== "set-cookie") outgoing.setHeader(name, value);
  if (cookies.length > 0) outgoing.setHeader("set-cookie", cookies);
  outgoing.statusCode = status;
  if (statusText !== "") outgoing.statusMessage = statusText;
  if (body === null || outgoing.req.method === "HEAD") {
    await body?.cancel();
    outgoing.end();
    return;
  }
  const reader = body.getReader();
  // A client that is gone ends the wait for a body that never ends: the read that waits is done.
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  if (outgoing.destroyed) cancel();
  else outgoing.once("close", cancel);
  for (;;) {
    const { done, value } = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value)) await drained(outgoing);
  }
  if (!outgoing.destroyed) outgoing.end();
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off("drain", done);
      outgoing.off("close", done);
      resolve();
    };
    outgoing.on("drain", done);
    outgoing.on("close", done);
  });
}

/** Answers with a status and its name alone, if nothing was written so far. Otherwise the client gets half a response. */
export function answer(outgoing: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  if (outgoing.writableEnded) return;
  if (outgoing.headersSent) {
    outgoing.destroy();
    return;
  }
  for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
  const text = node.http.STATUS_CODES[status] ?? "";
  outgoing.writeHead(status, { "content-type": "text/plain", ...headers }).end(`${text}\n`);
}
