// Requests and responses of Node as those of fetch. srvx does that; it is loaded when the first server with a fetch handler starts.

import { type IncomingMessage, reasonPhrase, type ServerResponse } from "./node-http.js";

/** Converts requests and responses of Node into those of fetch. */
export interface FetchAdapter {
  /** The request as fetch has it. Undefined when there is no such request: a host that is none. */
  receive(incoming: IncomingMessage, outgoing: ServerResponse, maxBodyBytes: number): Request | undefined;
  /**
   * Writes a response. The promise resolves when all of it is written, or the client is gone; there is none when nothing is left to
   * wait for.
   *
   * @throws TypeError when the response is none that can be sent: a reason phrase with a line break
   */
  send(outgoing: ServerResponse, response: Response): Promise<void> | undefined;
}

/** The part of srvx that is used. */
interface Srvx {
  readonly NodeRequest: new (given: {
    readonly req: IncomingMessage;
    readonly res: ServerResponse;
    readonly maxRequestBodySize: number;
  }) => { json(): Promise<unknown> };
  sendNodeResponse(outgoing: ServerResponse, response: Response): Promise<void>;
}

export async function loadFetchAdapter(): Promise<FetchAdapter> {
  const { NodeRequest, sendNodeResponse } = (await import("srvx/node")) as unknown as Srvx;
  class ClientRequest extends NodeRequest {
    override json(): Promise<unknown> {
      return super.json().catch(blameClient);
    }
  }
  const bodyAtHand = findBodies();
  /** Most requests name the host of the one before. */
  let known: string | undefined;
  const isHost = (host: string): boolean => {
    if (host === known) return true;
    if (!URL.canParse(`http://${host}`)) return false;
    known = host;
    return true;
  };
  return {
    receive: (incoming, outgoing, maxBodyBytes) => {
      const { url = "/", headers } = incoming;
      if (headers.host !== undefined && !isHost(headers.host)) return undefined;
      // A path that begins with two slashes stays a path. An absolute URL, as a proxy gets it, keeps its path alone.
      if (!url.startsWith("/")) incoming.url = URL.canParse(url) ? pathOf(new URL(url)) : "/";
      const given = { req: incoming, res: outgoing, maxRequestBodySize: maxBodyBytes };
      return new ClientRequest(given) as Request;
    },
    send: (outgoing, response) => {
      // A handler that has begun to write by itself goes on with the body.
      const body = outgoing.headersSent ? undefined : bodyAtHand(response);
      if (body === undefined) return sendNodeResponse(outgoing, named(response));
      write(outgoing, response, body);
      return undefined;
    },
  };
}

function pathOf({ pathname, search }: URL): string {
  return `${pathname}${search}`;
}

// ── errors of the client ────────────────────────────────────────────────────────────────────────────────────────

/** Errors in the text that a client sent, as opposed to errors of the handler. */
const malformed = new WeakSet<object>();

function blameClient(error: unknown): never {
  if (error instanceof SyntaxError) malformed.add(error);
  throw error;
}

/** The status that tells the client what is wrong with its body; undefined when the error is not the client's. */
export function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  if (malformed.has(error)) return 400;
  return (error as { readonly code?: unknown }).code === "ERR_BODY_TOO_LARGE" ? 413 : undefined;
}

// ── responses ───────────────────────────────────────────────────────────────────────────────────────────────────

/** The body of a response: null when it has none, undefined when it has to be read from its stream. */
type BodyAtHand = (response: Response) => string | Uint8Array | null | undefined;

/** A response as undici describes it. */
interface ResponseState {
  readonly body?: {
    readonly source: unknown;
    readonly stream: { readonly locked: boolean };
  } | null;
}

/**
 * The body of most responses is a text that was there all the time. Reading it as a stream costs as much as all else that a server does
 * for a request, so it is taken from where undici keeps it. Where undici hides it, as on Node 24, each body is read.
 */
function findBodies(): BodyAtHand {
  const probe = new Response("body") as unknown as Record<symbol, ResponseState | undefined>;
  const key = Object.getOwnPropertySymbols(probe).find((one) => probe[one]?.body?.source === "body");
  if (key === undefined) return () => undefined;
  return (response) => {
    const state = (response as unknown as Record<symbol, ResponseState | undefined>)[key];
    if (state === undefined) return undefined;
    const { body } = state;
    if (body === null || body === undefined) return null;
    const { source, stream } = body;
    // The stream is being read, or has been read.
    if (stream.locked || isDisturbed(stream)) return undefined;
    return typeof source === "string" || source instanceof Uint8Array ? source : undefined;
  };
}

/** Node's own mark of streams whose reading has begun. */
const DISTURBED = Symbol.for("nodejs.stream.disturbed");

function isDisturbed(stream: object): boolean {
  return (stream as Record<symbol, unknown>)[DISTURBED] === true;
}

function write(outgoing: ServerResponse, response: Response, body: string | Uint8Array | null): void {
  const { status, statusText } = response;
  // As bytes: Node would encode the head of a text in UTF-8, too.
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const headers: string[] = [];
  let length = bytes?.byteLength;
  for (const [name, value] of response.headers) {
    headers.push(name, value);
    if (name === "content-length" || name === "transfer-encoding") length = undefined;
  }
  if (length !== undefined) headers.push("content-length", String(length));
  outgoing.writeHead(status, statusText === "" ? reasonPhrase(status) : statusText, headers).end(bytes);
}

/** A response without a reason phrase goes out with that of its status. srvx would send none. */
function named(response: Response): Response {
  const { status, statusText } = response;
  if (statusText === "")
    Object.defineProperty(response, "statusText", { value: reasonPhrase(status), configurable: true });
  return response;
}
