// Makes a request over HTTP for each message.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { callable, text } from "../../process/options.js";
import type { Adapter, AdapterContext } from "../definition/adapter.js";
import { checkName } from "../definition/queue.js";
import { HTTP_DEFAULTS, HTTP_POLICY, type HttpPolicy, httpClient } from "../sources/http-client.js";
import type { HttpReply } from "../sources/http-exchange.js";

/** Options of {@link httpRequest}. */
export interface HttpRequestOptions<I, O> extends HttpPolicy {
  /** Where the request goes. */
  readonly url: string | ((value: I, ctx: AdapterContext) => string);
  /** Default: `POST` with a body, `GET` without. */
  readonly method?: string;
  /** Headers besides the idempotency key. */
  readonly headers?:
    | Readonly<Record<string, string>>
    | ((value: I, ctx: AdapterContext) => Readonly<Record<string, string>>);
  /** The body: a text, bytes, or a value that is sent as JSON. Default: none. */
  readonly body?: (value: I) => unknown;
  /** The message that goes on; `undefined` ends it. Default: the body of the response as JSON; without a body the message ends. */
  readonly result?: (reply: HttpReply, value: I) => O | undefined | PromiseLike<O | undefined>;
  /** The header for the key that is the same in every attempt at the message; `false` for none. Default `Idempotency-Key`. */
  readonly idempotencyHeader?: string | false;
}

const KNOWN = ["url", "method", "headers", "body", "result", "idempotencyHeader", ...HTTP_POLICY];

/**
 * Makes a request for each message, and goes on with its response.
 *
 * Statuses 408, 425, 429, 500, 502, 503 and 504, connections that fail and attempts that take too long are repeated here, and then by the
 * route. Every other status that is no success, and a body that is too large or no JSON, make the message a dead letter at once. The
 * `breaker` of the route stops requests to a server that fails; a request that the server refuses is no failure of the server.
 *
 * @throws OptionError
 * @example
 * const located = httpRequest("locate", {
 *   url: ({ city }: { city: string }) => `https://geo.example/search?q=${encodeURIComponent(city)}`,
 *   result: (reply, { city }) => ({ city, place: reply.json() }),
 * });
 */
export function httpRequest<I, O = unknown>(name: string, options: HttpRequestOptions<I, O>): Adapter<I, O> {
  checkName("name", name);
  only("", options, KNOWN);
  const { url, headers = {}, body, result, idempotencyHeader = HTTP_DEFAULTS.idempotencyHeader } = options;
  if (typeof url !== "function") checkUrl(url);
  if (typeof headers !== "function" && (typeof headers !== "object" || headers === null))
    throw new OptionError("headers", headers, "an object of texts, or a function that gives one");
  if (body !== undefined) callable("body", body);
  if (result !== undefined) callable("result", result);
  if (idempotencyHeader !== false) text("idempotencyHeader", idempotencyHeader);
  const method = text("method", options.method ?? (body === undefined ? "GET" : "POST"));
  const request = httpClient(options);
  return {
    name,
    async process(value, ctx) {
      const own = typeof headers === "function" ? headers(value, ctx) : headers;
      const sent = payloadOf(body?.(value));
      const call = {
        url: typeof url === "function" ? url(value, ctx) : url,
        method,
        headers: {
          ...(sent?.type === undefined ? {} : { "content-type": sent.type }),
          ...(idempotencyHeader === false ? {} : { [idempotencyHeader]: headerText(ctx.idempotencyKey) }),
          ...own,
        },
        body: sent?.data,
      };
      const reply = await request(ctx.kernel, call, ctx.signal);
      return result === undefined ? (reply.json() as O | undefined) : result(reply, value);
    },
  };
}

/** @throws OptionError */
function checkUrl(given: unknown): void {
  if (typeof given === "string" && /^https?:\/\//i.test(given) && URL.canParse(given)) return;
  throw new OptionError("url", given, "an absolute URL, of http or https");
}

interface Payload {
  readonly data: string | Uint8Array;
  /** Undefined: the user's headers say what it is. */
  readonly type: string | undefined;
}

function payloadOf(given: unknown): Payload | undefined {
  if (given === undefined) return undefined;
  if (typeof given === "string" || given instanceof Uint8Array) return { data: given, type: undefined };
  return { data: JSON.stringify(given), type: "application/json" };
}

/** Headers carry visible ASCII; the id of an execution may be any text. */
function headerText(key: string): string {
  return key.replace(/[^\x21-\x7e]|%/g, (character) => encodeURIComponent(character));
}
