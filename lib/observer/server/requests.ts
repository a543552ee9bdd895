// The requests to an observer, for its own server and for those of frameworks. Paths are read from their end, so that it may be mounted anywhere.

import { AdminTimeoutError } from "../../admin/errors.js";
import { type Fault, faultOf } from "../../admin/fault.js";
import { type Json, toJson } from "../../admin/json-view.js";
import { subjectOf } from "../../admin/subject.js";
import type { Kernel } from "../../process/kernel.js";
import { httpStatus } from "../../service/http/status.js";
import type { FeedDesk } from "../feed/desk.js";
import { ObserverBusyError, ObserverReadOnlyError, ObserverRefusedError } from "../feed/errors.js";
import type { EventStream } from "../feed/event-stream.js";
import type { ObserverLimits } from "../feed/limits.js";
import type { ObserverAction } from "./audit.js";
import { type GuardedRequest, type GuardRefusal, type GuardRules, refusalOf, tooLong } from "./guard.js";
import { headersOf } from "./headers.js";
import { type PageFileName, PageFiles } from "./page-files.js";
import { type AskedOperation, askedIn, objectIn, textOf, viewsIn } from "./request-body.js";
import { versionOf } from "./version.js";

export interface RequestSettings {
  readonly rules: GuardRules;
  /** Whether operations that change something are carried out. */
  readonly actions: boolean;
  readonly limits: ObserverLimits;
}

/** What a server tells about a request beside it. */
export interface RequestFacts {
  /** Aborted when the server stops accepting. */
  readonly draining?: AbortSignal;
  /** The Host header, which a URL has even where the client sent none. */
  readonly host?: string | undefined;
}

/** What a path asks for. */
type Asked =
  | { readonly type: "file"; readonly name: PageFileName }
  | { readonly type: "api"; readonly name: string }
  | { readonly type: "directory"; readonly to: string }
  | { readonly type: "nothing" };

const API = ["hello", "ask", "feed"];

const FEED_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  // Proxies must not collect events, and compression must not: it would hold back what is too short for it.
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
  // A server that stops waits for its connections: this one has no further request.
  connection: "close",
};

export class ObserverRequests {
  readonly #desk: FeedDesk;
  readonly #page: PageFiles;
  readonly #settings: RequestSettings;
  readonly #aborts = new SharedAborts();
  #asks = 0;

  constructor(desk: FeedDesk, page: PageFiles, settings: RequestSettings) {
    this.#desk = desk;
    this.#page = page;
    this.#settings = settings;
  }

  /** Answers a request. Never rejects. */
  async answer(request: Request, facts: RequestFacts): Promise<Response> {
    try {
      const url = new URL(request.url);
      const asked = askedBy(url.pathname);
      // Some hosts name it in the URL alone.
      const host = "host" in facts ? facts.host : (request.headers.get("host") ?? url.host);
      const refusal = refusalOf(guarded(request, host, asked.type === "api"), this.#settings.rules);
      if (refusal !== undefined) return refused(refusal);
      return await this.#respond(asked, request, facts);
    } catch (error) {
      return failed(error);
    }
  }

  async #respond(asked: Asked, request: Request, facts: RequestFacts): Promise<Response> {
    switch (asked.type) {
      case "file":
        return this.#page.answer(asked.name, request);
      case "directory":
        return new Response(null, { status: 308, headers: headersOf({ location: asked.to }) });
      case "nothing":
        return refused({ status: 404, message: "there is nothing of this name" });
      case "api": {
        const { bodyBytes } = this.#settings.rules;
        const text = await textOf(request, bodyBytes);
        if (text === undefined) return refused(tooLong(bodyBytes));
        const body = objectIn(text);
        if (asked.name === "hello") return json(200, this.#hello());
        if (asked.name === "ask") return json(200, { ok: await this.#ask(askedIn(body), request.signal) });
        return this.#feed(body, request, facts);
      }
      default:
        return asked satisfies never;
    }
  }

  #hello(): Json {
    const { kernel, source } = this.#desk.running;
    const { actions } = this.#settings;
    const subjects = ["system", "flows", "pipelines", "queues"].filter((one) =>
      source.names.some((name) => subjectOf(name) === one),
    );
    const systems = source.systems.map(({ name, id }) => ({ name, id }));
    return {
      name: source.name,
      version: versionOf(),
      actions,
      subjects,
      systems,
      stores: toJson(source.stores ?? {}),
      now: kernel.env.wallTime(),
    };
  }

  // ── feeds ─────────────────────────────────────────────────────────────────────────────────────────────────────

  async #feed(
    body: { readonly [key: string]: Json },
    request: Request,
    { draining }: RequestFacts,
  ): Promise<Response> {
    const wanted = viewsIn(body);
    const { source } = this.#desk.running;
    const change = wanted.find(({ op }) => (source.leaveOf(op) ?? "look") !== "look");
    if (change !== undefined) throw new ObserverReadOnlyError(change.op);
    const ends = new Set([request.signal, ...(draining === undefined ? [] : [draining])]);
    let stream: EventStream | undefined;
    const end = (): void => stream?.end();
    const leave = (): void => {
      for (const signal of ends) this.#aborts.remove(signal, end);
    };
    stream = await this.#desk.open(wanted, leave);
    for (const signal of ends) this.#aborts.add(signal, end);
    return new Response(stream.body, { headers: headersOf(FEED_HEADERS) });
  }

  // ── operations ────────────────────────────────────────────────────────────────────────────────────────────────

  async #ask(asked: AskedOperation, gone: AbortSignal): Promise<Json> {
    const { kernel, source } = this.#desk.running;
    const leave = source.leaveOf(asked.op) ?? "look";
    const { actions, limits } = this.#settings;
    if (leave !== "look" && !actions) {
      const error = new ObserverReadOnlyError(asked.op);
      tell(kernel, { ...asked, outcome: "refused", error: faultOf(error), tookMs: 0 });
      throw error;
    }
    if (this.#asks >= limits.asks)
      throw new ObserverBusyError(`${limits.asks} requests are in work, and no more are allowed`);
    this.#asks++;
    try {
      const look = (signal: AbortSignal): Promise<Json> => source.look(asked.op, asked.args, signal);
      if (leave === "look") return await within(kernel, limits.pollMs, look, gone);
      return await audited(kernel, asked, () => within(kernel, limits.actionMs, look));
    } finally {
      this.#asks--;
    }
  }
}

/** Carries out an operation, for a time. @throws AdminTimeoutError after it */
async function within<T>(
  kernel: Kernel,
  limitMs: number,
  look: (signal: AbortSignal) => Promise<T>,
  gone?: AbortSignal,
): Promise<T> {
  const abort = new AbortController();
  const leave = (): void => abort.abort(gone?.reason);
  gone?.addEventListener("abort", leave);
  let timer: ReturnType<Kernel["addTimer"]> | undefined;
  try {
    const late = new Promise<never>((_resolve, reject) => {
      const fire = (): void => {
        const error = new AdminTimeoutError(limitMs);
        abort.abort(error);
        reject(error);
      };
      timer = kernel.addTimer(limitMs, { fire });
    });
    return await Promise.race([look(abort.signal), late]);
  } finally {
    if (timer !== undefined) kernel.cancelTimer(timer);
    gone?.removeEventListener("abort", leave);
  }
}

/** Carries out a change, and tells of it. */
async function audited<T>(kernel: Kernel, asked: AskedOperation, change: () => Promise<T>): Promise<T> {
  const began = kernel.env.now();
  const ended = (outcome: "done" | "failed", error?: Fault): void =>
    tell(kernel, { ...asked, outcome, ...(error && { error }), tookMs: kernel.env.now() - began });
  try {
    const result = await change();
    ended("done");
    return result;
  } catch (error) {
    ended("failed", faultOf(error));
    throw error;
  }
}

function tell({ events }: Kernel, action: ObserverAction): void {
  if (events.wants.observerAction) events.publish("observerAction", action);
}

/** Listeners for the end of signals that many share: a signal has one listener, for all of them. */
class SharedAborts {
  readonly #ends = new WeakMap<AbortSignal, Set<() => void>>();

  add(signal: AbortSignal, end: () => void): void {
    if (signal.aborted) end();
    const known = this.#ends.get(signal);
    known?.add(end);
    if (signal.aborted || known !== undefined) return;
    const ends = new Set([end]);
    this.#ends.set(signal, ends);
    const all = (): void => {
      for (const one of [...ends]) one();
    };
    signal.addEventListener("abort", all, { once: true });
  }

  remove(signal: AbortSignal, end: () => void): void {
    this.#ends.get(signal)?.delete(end);
  }
}

/** What a path asks for, by its end. A path without a slash at its end is that of a directory: the page's links are relative. */
function askedBy(path: string): Asked {
  const [, folder = "", name = ""] = /^(?:.*\/)?([^/]*)\/([^/]*)$/.exec(path) ?? [];
  if (folder === "api" && API.includes(name)) return { type: "api", name };
  if (PageFiles.has(name)) return { type: "file", name };
  return name.includes(".") ? { type: "nothing" } : { type: "directory", to: `./${name}/` };
}

function guarded({ method, headers }: Request, host: string | undefined, isApi: boolean): GuardedRequest {
  const header = (name: string): string | undefined => headers.get(name) ?? undefined;
  return {
    method,
    isApi,
    host,
    origin: header("origin"),
    fetchSite: header("sec-fetch-site"),
    authorization: header("authorization"),
    contentType: header("content-type"),
    contentLength: header("content-length"),
  };
}

// ── answers ─────────────────────────────────────────────────────────────────────────────────────────────────────

function json(status: number, body: Json, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: headersOf({ "content-type": "application/json", ...headers }),
  });
}

function refused({
  status,
  message,
  headers,
}: Omit<GuardRefusal, "status"> & { readonly status: number }): Response {
  return json(status, { error: { ...faultOf(new ObserverRefusedError(message)) } }, headers);
}

/** Statuses of errors beside those that a service has for its clients. */
const STATUSES: Readonly<Record<string, number>> = {
  ERR_OPTION: 400,
  ERR_ADMIN_PROTOCOL: 400,
  ERR_OBSERVER_REQUEST: 400,
  ERR_OBSERVER_READ_ONLY: 403,
  ERR_NO_PROCESS: 404,
  ERR_OBSERVER_BUSY: 503,
  ERR_ADMIN_TIMEOUT: 504,
};

/** The answer to a request that has failed. */
export function failed(error: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  const fault = faultOf(error);
  const status = STATUSES[fault.code ?? ""] ?? httpStatus(fault);
  const again = status === 503 && { "retry-after": "1" };
  return json(status, { error: { ...fault } }, { ...again, ...headers });
}
