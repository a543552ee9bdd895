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

/** What turns requests and responses of Node into those of fetch: srvx, loaded when a server with a fetch handler starts. */
export interface FetchAdapter {
  readonly NodeRequest: new (given: {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly maxRequestBodySize: number;
  }) => object;
  /** Resolves when all of the response is written, or the client is gone. */
  sendNodeResponse(outgoing: ServerResponse, response: Response): Promise<void>;
}

export async function loadFetchAdapter(): Promise<FetchAdapter> {
  return (await import("srvx/node")) as unknown as FetchAdapter;
}

/** A request as fetch has it, and which errors come from what its client sent. */
export interface ClientRequest {
  readonly request: Request;
  /** The status that tells the client what is wrong with its body; undefined when the error is not the client's. */
  statusOf(error: unknown): number | undefined;
}

/**
 * The request as fetch has it.
 *
 * @throws TypeError when there is no such request: a host that is none
 */
export function requestOf(
  { NodeRequest }: FetchAdapter,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  maxBodyBytes: number,
): ClientRequest {
  const url = urlOf(incoming);
  if (incoming.url?.startsWith("/") === false) incoming.url = pathOf(url);
  const request = new NodeRequest({
    req: incoming,
    res: outgoing,
    maxRequestBodySize: maxBodyBytes,
  }) as Request;
  const malformed = new WeakSet<object>();
  const parse = request.json.bind(request);
  const json = async (): Promise<unknown> => {
    try {
      return await parse();
    } catch (error) {
      if (error instanceof SyntaxError) malformed.add(error);
      throw error;
    }
  };
  // The text that the client sent, not what the handler made of it.
  Object.defineProperty(request, "json", { value: json, configurable: true });
  const statusOf = (error: unknown): number | undefined => {
    if (typeof error !== "object" || error === null) return undefined;
    if (malformed.has(error)) return 400;
    return (error as { code?: unknown }).code === "ERR_BODY_TOO_LARGE" ? 413 : undefined;
  };
  return { request, statusOf };
}

/**
 * Reads what nobody has read of a body that has been answered, so that its client gets the answer and can use its connection again.
 * Bodies without end are cut off.
 */
export function discardRest(incoming: IncomingMessage, maxBodyBytes: number): void {
  if (incoming.readableEnded || incoming.destroyed) return;
  let left = maxBodyBytes;
  // Whoever has begun to read would hold the rest back.
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

/** Whether the client went away before it had its response, and an error is what that does to whoever reads or writes. */
export function isGone(incoming: IncomingMessage, outgoing: ServerResponse, error: unknown): boolean {
  if (outgoing.writableFinished || !(outgoing.destroyed || incoming.destroyed)) return false;
  if (error === incoming.errored) return true;
  const { name, code } = (typeof error === "object" && error !== null ? error : {}) as Partial<
    Record<string, unknown>
  >;
  return name === "AbortError" || code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE";
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
