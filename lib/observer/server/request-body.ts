// The bodies of requests: JSON of a bounded size, and of a form that is checked.

import type { Json } from "../../admin/json-view.js";
import { show } from "../../process/show.js";
import { ObserverRequestError } from "../feed/errors.js";
import type { Wanted } from "../feed/feed-state.js";
import { VIEW_HZ } from "../feed/limits.js";

type JsonObject = { readonly [key: string]: Json };

/** Most characters of the names that a request has. */
const NAME = 200;

/**
 * The text of a body. Undefined: it is longer than allowed, whatever its length said.
 *
 * @throws ObserverRequestError when somebody has read it before
 */
export async function textOf(request: Request, most: number): Promise<string | undefined> {
  if (request.bodyUsed) throw alreadyRead();
  const { body } = request;
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let left = most;
  for (;;) {
    const { done, value } = reader === undefined ? NOTHING : await next(reader, left === most);
    if (done) {
      if (left === most && announcesBody(request)) throw alreadyRead();
      return text + decoder.decode();
    }
    left -= value.byteLength;
    if (left < 0) {
      // The rest is not read.
      reader?.cancel().catch(() => undefined);
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

type Chunk = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>["read"]>>;

const NOTHING = { done: true, value: undefined } as const;

/** @param isFirst - nothing has been read yet: adapters of Node's requests fail so when the stream has ended before */
async function next(reader: ReadableStreamDefaultReader<Uint8Array>, isFirst: boolean): Promise<Chunk> {
  try {
    return await reader.read();
  } catch (error) {
    throw isFirst && error instanceof TypeError ? alreadyRead() : error;
  }
}

function announcesBody({ headers }: Request): boolean {
  return Number(headers.get("content-length") ?? 0) > 0 || headers.has("transfer-encoding");
}

function alreadyRead(): ObserverRequestError {
  return new ObserverRequestError(
    "the body was read before the observer got the request: mount the observer before what parses bodies, such as express.json()",
  );
}

/** The object of a body. @throws ObserverRequestError */
export function objectIn(text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    throw new ObserverRequestError("the body must be JSON");
  }
  if (!isObject(value)) throw new ObserverRequestError("the body must be an object");
  return value;
}

/** What a request asks for. */
export interface AskedOperation {
  readonly op: string;
  readonly args: JsonObject;
}

/** @throws ObserverRequestError */
export function askedIn({ op, args = {} }: JsonObject): AskedOperation {
  const name = nameIn("op", op);
  if (!isObject(args)) throw new ObserverRequestError(`args must be an object; got ${show(args)}`);
  return { op: name, args };
}

/** @throws ObserverRequestError */
export function viewsIn({ views }: JsonObject): readonly Wanted[] {
  if (!Array.isArray(views) || views.length === 0)
    throw new ObserverRequestError("views must be a list of at least one view");
  const keys = new Set<string>();
  return (views as readonly Json[]).map((view): Wanted => {
    if (!isObject(view)) throw new ObserverRequestError(`a view must be an object; got ${show(view)}`);
    const key = nameIn("key", view.key);
    if (keys.has(key)) throw new ObserverRequestError(`two views have the key ${show(key)}`);
    keys.add(key);
    const { hz = VIEW_HZ.least } = view;
    if (typeof hz !== "number" || hz < VIEW_HZ.least || hz > VIEW_HZ.most)
      throw new ObserverRequestError(
        `hz must be a number from ${VIEW_HZ.least} to ${VIEW_HZ.most}; got ${show(hz)}`,
      );
    return { key, hz, ...askedIn(view) };
  });
}

/** @throws ObserverRequestError */
function nameIn(what: string, value: Json | undefined): string {
  if (typeof value === "string" && value !== "" && value.length <= NAME) return value;
  throw new ObserverRequestError(`${what} must be a text of 1 to ${NAME} characters; got ${show(value)}`);
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
