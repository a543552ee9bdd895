// One request over HTTP and its response, with a limit on its size.

import { retryAfterIn } from "../../process/retry-after.js";
import { HttpBodyError, HttpFailedError, HttpStatusError } from "./errors.js";

/** A request: what `fetch` gets. */
export interface HttpCall {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly body: string | Uint8Array | undefined;
}

/** A response whose status is a success. */
export interface HttpReply {
  /** The status, 200 to 299. */
  readonly status: number;
  /** The headers. */
  readonly headers: Headers;
  /** The body. */
  readonly bytes: Uint8Array;
  /** The body as text. */
  text(): string;
  /** The body as JSON; undefined if it is empty. @throws HttpBodyError */
  json(): unknown;
}

/** A function like `fetch`. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Statuses after which another attempt may help. */
const RETRIED = new Set([408, 425, 429, 500, 502, 503, 504]);

/** How much of the body an error keeps, in bytes. */
const ERROR_BYTES = 1_024;

/**
 * Makes a request.
 *
 * @throws HttpStatusError, HttpBodyError, HttpFailedError; the reason of the signal
 */
export async function exchange(
  fetch: Fetch,
  call: HttpCall,
  maxBytes: number,
  signal: AbortSignal,
  wallTime: () => number,
): Promise<HttpReply> {
  const request = shown(call);
  let response: Response;
  try {
    response = await fetch(call.url, initOf(call, signal));
  } catch (error) {
    signal.throwIfAborted();
    throw new HttpFailedError(request, !isMalformed(call), error);
  }
  try {
    if (!response.ok) throw await statusError(request, response, wallTime());
    const bytes = await bodyOf(request, response, maxBytes);
    return replyOf(request, response, bytes);
  } catch (error) {
    if (error instanceof HttpStatusError || error instanceof HttpBodyError) throw error;
    signal.throwIfAborted();
    throw new HttpFailedError(request, true, error);
  }
}

function initOf({ method, headers, body }: HttpCall, signal: AbortSignal): RequestInit {
  return { method, headers, signal, ...(body === undefined ? {} : { body: body }) };
}

/** Without query and password, which may be secrets. */
function shown({ method, url }: HttpCall): string {
  try {
    const { origin, pathname } = new URL(url);
    return `${method} ${origin}${pathname}`;
  } catch {
    return `${method} (no URL)`;
  }
}

/** Whether the request can never be made. */
function isMalformed({ url, method, headers, body }: HttpCall): boolean {
  try {
    if (!["http:", "https:"].includes(new URL(url).protocol)) return true;
    new Request(url, { method, headers, ...(body === undefined ? {} : { body: body }) });
    return false;
  } catch {
    return true;
  }
}

async function statusError(request: string, response: Response, wallMs: number): Promise<HttpStatusError> {
  const { status } = response;
  const { bytes } = await take(response, ERROR_BYTES);
  const text = new TextDecoder().decode(bytes.subarray(0, ERROR_BYTES));
  return new HttpStatusError(
    request,
    status,
    RETRIED.has(status),
    retryAfterIn(response.headers, wallMs),
    text,
  );
}

async function bodyOf(request: string, response: Response, maxBytes: number): Promise<Uint8Array> {
  const { bytes, isWhole } = await take(response, maxBytes);
  if (isWhole) return bytes;
  throw new HttpBodyError(request, `the body has more than ${maxBytes} bytes`);
}

/** Reads a body as far as it is allowed, and discards the rest. */
async function take(
  response: Response,
  most: number,
): Promise<{ readonly bytes: Uint8Array; readonly isWhole: boolean }> {
  const reader = response.body?.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isWhole = true;
  while (reader !== undefined) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.length;
    if (length <= most) continue;
    isWhole = false;
    // The connection does not matter any more.
    reader.cancel().catch(() => undefined);
    break;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return { bytes, isWhole };
}

function replyOf(request: string, { status, headers }: Response, bytes: Uint8Array): HttpReply {
  const text = (): string => new TextDecoder().decode(bytes);
  return {
    status,
    headers,
    bytes,
    text,
    json: () => {
      if (bytes.length === 0) return undefined;
      try {
        return JSON.parse(text()) as unknown;
      } catch (error) {
        throw new HttpBodyError(request, "the body is no JSON", error);
      }
    },
  };
}
