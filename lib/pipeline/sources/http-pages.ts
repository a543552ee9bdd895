// A source of pages over HTTP. The checkpoint is the request of the page at hand, and how many of its values were given.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import { checkName } from "../definition/queue.js";
import type { Source, Sourced } from "../definition/source.js";
import { SOURCE_DEFAULTS } from "./defaults.js";
import { HTTP_POLICY, type HttpPolicy, httpClient } from "./http-client.js";
import type { HttpReply } from "./http-exchange.js";
import { keyOption, sourced } from "./values.js";

/** The request of a page: plain data, since checkpoints hold it. Secrets belong into `headers` of the source. */
export interface PageRequest {
  /** Where it goes. */
  readonly url: string;
  /** Default: `POST` with a body, `GET` without. */
  readonly method?: string;
  /** The body. */
  readonly body?: string;
}

/** A page. */
export interface Page<out T> {
  /** Its values: each becomes a message. */
  readonly values: readonly T[];
  /** The request of the next page; undefined if this is the last one. */
  readonly next: PageRequest | undefined;
}

/** Where a source of pages is. */
export interface PagePlace {
  /** The page; undefined when all pages were read. */
  readonly request: PageRequest | undefined;
  /** How many values of it were given. */
  readonly given: number;
}

/** Options of {@link httpPages}. */
export interface HttpPagesOptions<T> extends HttpPolicy {
  /** The first page: a URL, a request, or a function of the execution's input that gives one. */
  readonly first: string | PageRequest | ((input: never) => string | PageRequest);
  /** Reads a page. */
  readonly page: (reply: HttpReply, request: PageRequest) => Page<T> | PromiseLike<Page<T>>;
  /** Headers of each request. They are not stored. */
  readonly headers?: Readonly<Record<string, string>> | (() => Readonly<Record<string, string>>);
  /** Gives the key of each message. Default: it has none. */
  readonly key?: (value: T) => string | undefined;
}

const KNOWN = ["first", "page", "headers", "key", ...HTTP_POLICY];

/**
 * A source of pages over HTTP: each page gives values, and the request of the next one. An interrupted execution requests the page at hand
 * again, and leaves out the values that it had: the server must give the values of a page in the same order.
 *
 * Requests are repeated as those of {@link httpRequest}; when that does not help, the execution fails.
 *
 * @throws OptionError
 * @example
 * interface Found { readonly items: readonly { id: string }[]; readonly next?: string }
 * const found = httpPages("found", {
 *   first: "https://api.example/items",
 *   page: (reply) => {
 *     const { items, next } = reply.json() as Found;
 *     return { values: items, next: next === undefined ? undefined : { url: next } };
 *   },
 * });
 */
export function httpPages<T>(name: string, options: HttpPagesOptions<T>): Source<T, PagePlace> {
  checkName("name", name);
  only("", options, KNOWN);
  const { first, page, headers = {} } = options;
  if (typeof first !== "function") requestOf("first", first);
  if (typeof page !== "function") throw new OptionError("page", page, "a function that reads a page");
  const key = keyOption(options.key);
  const send = httpClient(options, SOURCE_DEFAULTS.maxPageBytes);
  return {
    name,
    async *open({ checkpoint, input, signal, kernel }): AsyncGenerator<Sourced<T, PagePlace>> {
      let request =
        checkpoint === undefined
          ? requestOf("first", typeof first === "function" ? first(input as never) : first)
          : checkpoint.request;
      let skip = count("checkpoint.given", checkpoint?.given ?? 0, 0);
      while (request !== undefined) {
        const { url, method, body } = request;
        const own = typeof headers === "function" ? headers() : headers;
        const call = { url, method: method ?? (body === undefined ? "GET" : "POST"), headers: own, body };
        const { values, next } = checkPage(await page(await send(kernel, call, signal), request));
        for (let i = skip; i < values.length; i++) {
          signal.throwIfAborted();
          const isLast = i === values.length - 1;
          const place: PagePlace = isLast ? { request: next, given: 0 } : { request, given: i + 1 };
          yield sourced(values[i] as T, place, key);
        }
        request = next;
        skip = 0;
      }
    },
  };
}

/** @throws OptionError */
function requestOf(path: string, given: string | PageRequest): PageRequest {
  if (typeof given === "string") return { url: text(path, given) };
  only(path, given, ["url", "method", "body"]);
  text(`${path}.url`, given.url);
  return given;
}

/** @throws OptionError */
function checkPage<T>(given: Page<T>): Page<T> {
  if (!Array.isArray((given as Page<T> | undefined)?.values))
    throw new OptionError("page", given, "a function that returns { values, next }, values being a list");
  const next = given.next === undefined ? undefined : requestOf("page.next", given.next);
  return { values: given.values, next };
}
