// What the specs of the observer share: a client of its requests, and a reader of its events.

import type { Json } from "../../lib/admin/json-view.js";
import { applied, type Patch } from "../../lib/observer/feed/difference.js";

export interface Answering {
  fetch(request: Request): Promise<Response>;
}

export const HOST = "http://localhost:4000";

/** A POST as the page sends it. */
export function post(
  path: string,
  body: unknown,
  token: string,
  headers: Record<string, string> = {},
): Request {
  return new Request(`${HOST}${path}`, {
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
      origin: HOST,
      "sec-fetch-site": "same-origin",
      ...headers,
    },
  });
}

/** An event as it was read. */
export interface ReadEvent {
  readonly type: string;
  readonly data: {
    readonly key: string;
    readonly revision?: number;
    readonly from?: number;
    readonly value?: Json;
    readonly patch?: Patch;
    readonly error?: { readonly name: string; readonly code?: string; readonly message: string };
  };
}

/** Reads the events of a response, only as far as it is asked to. */
export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #rest = "";
  readonly comments: string[] = [];
  /** The latest values, with all events applied. */
  readonly values: Map<string, Json> = new Map();

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** The next event. Undefined: the response has ended. */
  async next(): Promise<ReadEvent | undefined> {
    for (;;) {
      const end = this.#rest.indexOf("\n\n");
      if (end < 0) {
        const { done, value } = await this.#reader.read();
        if (done) return undefined;
        this.#rest += this.#decoder.decode(value, { stream: true });
        continue;
      }
      const text = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 2);
      if (text.startsWith(":")) {
        this.comments.push(text);
        continue;
      }
      const [, type = "", data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(text) ?? [];
      const event = { type, data: JSON.parse(data) } as ReadEvent;
      this.#apply(event);
      return event;
    }
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }

  #apply({ type, data: { key, value, patch } }: ReadEvent): void {
    if (type === "whole") this.values.set(key, value as Json);
    if (type === "reset") this.values.delete(key);
    if (type === "change") this.values.set(key, applied(this.values.get(key) as Json, patch as Patch));
  }
}
