// The protocol of operations: one request and one answer, each a line of JSON. The admin socket of a host and the command
// `signalbox flows` speak it.
//
//     {"v":1,"id":7,"op":"pause","args":{"id":"order-1"}}
//     {"id":7,"ok":null}
//     {"id":8,"error":{"name":"FlowNotFoundError","code":"ERR_FLOW_NOT_FOUND","message":"there is no flow \"order-2\""}}
//
// Every request ends by itself: a history is read page by page, and a wait for an outcome is asked for again and again.

import { SignalboxError } from "../../process/errors.js";
import { alike, only } from "../../process/known-options.js";
import { AdminProtocolError, FlowWaitTimeoutError, RemoteOperationError } from "./errors.js";
import { type Json, toJson } from "./json-view.js";
import type {
  FlowForkOptions,
  FlowListOptions,
  FlowMetrics,
  FlowOperations,
  FlowOutcome,
  FlowPruneOptions,
  FlowRetryOptions,
  FlowSendOptions,
  FlowStartOptions,
  HistoryEvent,
  ResultOptions,
} from "./operations.js";

export const PROTOCOL_VERSION = 1;

/** The limits of the protocol. */
export const PROTOCOL_LIMITS: {
  /** Most bytes of a request. */
  readonly requestBytes: number;
  /** Most characters of an answer. */
  readonly answerLength: number;
  /** Most events of a page of a history. */
  readonly pageEvents: number;
  /** A page of a history ends when it has so many characters. */
  readonly pageLength: number;
  /** How long one request waits for the end of a flow, in milliseconds. */
  readonly waitMs: number;
} = {
  requestBytes: 1 << 20,
  answerLength: 1 << 26,
  pageEvents: 500,
  pageLength: 1 << 20,
  waitMs: 10_000,
};

type Args = Readonly<Record<string, unknown>>;

/** One operation of the protocol: the names of its arguments, and how it is done. */
interface Operation {
  readonly args: readonly string[];
  run(operations: FlowOperations, args: Args, signal: AbortSignal): Promise<unknown>;
}

const LIST = [
  ...["status", "name", "version", "idPrefix", "queue", "parent", "createdFrom", "createdBelow"],
  ...["updatedFrom", "updatedBelow", "order", "limit", "cursor"],
];

/** The arguments without those that are given by their place. The operations check them. */
function rest<T>(args: Args, ...placed: readonly string[]): T {
  return Object.fromEntries(Object.entries(args).filter(([name]) => !placed.includes(name))) as T;
}

const id = (args: Args): string => args.id as string;

/** All operations, by name. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  list: { args: LIST, run: (on, args) => on.list(args as FlowListOptions) },
  inspect: { args: ["id"], run: (on, args) => on.inspect(id(args)) },
  history: { args: ["id", "after", "limit"], run: historyPage },
  pause: { args: ["id"], run: (on, args) => on.pause(id(args)) },
  resume: { args: ["id"], run: (on, args) => on.resume(id(args)) },
  cancel: { args: ["id"], run: (on, args) => on.cancel(id(args)) },
  kill: { args: ["id"], run: (on, args) => on.kill(id(args)) },
  retry: {
    args: ["id", "from"],
    run: (on, args) => on.retry(id(args), rest<FlowRetryOptions>(args, "id")),
  },
  fork: {
    args: ["id", "newId", "from", "input", "result"],
    run: (on, args) => {
      const options = rest<FlowForkOptions>(args, "id", "newId");
      return on.fork(id(args), args.newId === undefined ? options : { ...options, id: args.newId as string });
    },
  },
  outcome: { args: ["id", "timeoutMs"], run: outcome },
  remove: { args: ["id"], run: (on, args) => on.remove(id(args)) },
  prune: {
    args: ["status", "name", "olderThanMs", "keep"],
    run: (on, args) => on.prune(args as FlowPruneOptions),
  },
  send: {
    args: ["id", "topic", "value", "messageId"],
    run: (on, args) => {
      const options: FlowSendOptions = args.messageId === undefined ? {} : { id: args.messageId as string };
      return on.send(id(args), args.topic as string, args.value, options);
    },
  },
  start: {
    args: ["name", "input", "id"],
    run: (on, args) =>
      on.start(args.name as string, args.input, rest<FlowStartOptions>(args, "name", "input")),
  },
  metrics: { args: [], run: (on) => on.metrics() },
  schedules: { args: [], run: (on) => on.schedules() },
  pauseSchedule: { args: ["name"], run: (on, args) => on.pauseSchedule(args.name as string) },
  resumeSchedule: { args: ["name"], run: (on, args) => on.resumeSchedule(args.name as string) },
  queues: { args: [], run: (on) => on.queues() },
  discharge: { args: ["id"], run: (on, args) => on.discharge(id(args)) },
  backup: { args: ["path"], run: (on, args) => on.backup(args.path as string) },
};

interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  /** `after` of the next page. */
  readonly next?: number;
}

async function historyPage(on: FlowOperations, args: Args): Promise<HistoryPage> {
  const { pageEvents, pageLength } = PROTOCOL_LIMITS;
  const asked = typeof args.limit === "number" ? args.limit : pageEvents;
  const options = { ...rest<object>(args, "id", "limit"), limit: Math.min(asked, pageEvents) };
  const events: HistoryEvent[] = [];
  let length = 0;
  for await (const event of on.history(id(args), options)) {
    const shown = toJson(event);
    events.push(shown as unknown as HistoryEvent);
    length += JSON.stringify(shown).length;
    if (length > pageLength) break;
  }
  const last = events.at(-1);
  return last !== undefined && (events.length === options.limit || length > pageLength)
    ? { events, next: last.seq }
    : { events };
}

async function outcome(
  on: FlowOperations,
  args: Args,
  signal: AbortSignal,
): Promise<FlowOutcome | "pending"> {
  const timeoutMs = Math.min(typeof args.timeoutMs === "number" ? args.timeoutMs : 0, PROTOCOL_LIMITS.waitMs);
  try {
    return await on.outcome(id(args), { timeoutMs: Math.max(timeoutMs, 0), signal });
  } catch (error) {
    if (error instanceof SignalboxError && error.code === "ERR_FLOW_WAIT_TIMEOUT") return "pending";
    throw error;
  }
}

/** Carries out the request of a line. Resolves with the line of its answer; never rejects. */
export async function serve(operations: FlowOperations, line: string, signal: AbortSignal): Promise<string> {
  let of: number | null = null;
  try {
    const request = parse(line);
    of = request.id;
    const found = await request.operation.run(operations, request.args, signal);
    const answer = JSON.stringify({ id: of, ok: toJson(found) });
    if (answer.length <= PROTOCOL_LIMITS.answerLength) return answer;
    throw new AdminProtocolError(
      `the answer has ${answer.length} characters, and ${PROTOCOL_LIMITS.answerLength} are allowed: ask for less`,
    );
  } catch (error) {
    return errorLine(of, error);
  }
}

/** The line of an answer that is an error. */
export function errorLine(id: number | null, error: unknown): string {
  const { name, message, code } = (error instanceof Error ? error : new Error(String(error))) as Error & {
    code?: unknown;
  };
  return JSON.stringify({
    id,
    error: { name, message, ...(typeof code === "string" ? { code } : {}) },
  });
}

interface Parsed {
  readonly id: number;
  readonly operation: Operation;
  readonly args: Args;
}

/** @throws AdminProtocolError, OptionError */
function parse(line: string): Parsed {
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch {
    throw new AdminProtocolError("a request must be a line of JSON");
  }
  if (typeof request !== "object" || request === null || Array.isArray(request))
    throw new AdminProtocolError("a request must be an object with v, id, op and args");
  const { v, id: number, op, args = {} } = request as Args;
  if (v !== PROTOCOL_VERSION)
    throw new AdminProtocolError(
      `the request has version ${JSON.stringify(v)} of the protocol; this host has version ${PROTOCOL_VERSION}`,
    );
  if (!Number.isSafeInteger(number))
    throw new AdminProtocolError("the id of a request must be a whole number");
  const operation = typeof op === "string" && Object.hasOwn(OPERATIONS, op) ? OPERATIONS[op] : undefined;
  if (operation === undefined) {
    const meant = typeof op === "string" ? alike(Object.keys(OPERATIONS), op.slice(0, 100)) : [];
    throw new AdminProtocolError(
      `there is no operation ${JSON.stringify(op)?.slice(0, 100)}: ${meant.length > 0 ? `did you mean ${meant.join(" or ")}?` : `there is only ${Object.keys(OPERATIONS).join(", ")}`}`,
    );
  }
  only("args", args as object, operation.args);
  return { id: number as number, operation, args: args as Args };
}

/** The line of a request. */
export function requestLine(id: number, op: string, args: object): string {
  return JSON.stringify({ v: PROTOCOL_VERSION, id, op, args });
}

/** What an answer gives. @throws RemoteOperationError when it is an error, or no answer to this request */
export function readAnswer(id: number, line: string): Json {
  let answer: { id?: unknown; ok?: Json; error?: { name?: unknown; code?: unknown; message?: unknown } };
  try {
    answer = JSON.parse(line);
  } catch {
    throw new RemoteOperationError("the answer is no JSON: is this the admin socket of a host?", {
      name: "Error",
    });
  }
  const { error } = answer;
  if (error !== undefined) {
    const { name, message, code } = error;
    throw new RemoteOperationError(String(message), {
      name: String(name),
      ...(typeof code === "string" ? { code } : {}),
    });
  }
  if (answer.id !== id || answer.ok === undefined)
    throw new RemoteOperationError(`the answer is not that of request ${id}`, { name: "Error" });
  return answer.ok;
}

/** Sends a request, and gives what its answer gives. */
export type Ask = (op: string, args: object, signal?: AbortSignal) => Promise<Json>;

/** Operations at the other end of a connection. Values are shown as JSON. */
export function remoteOperations(ask: Ask): FlowOperations {
  const done = async (op: string, args: object): Promise<void> => void (await ask(op, args));
  const gives = async <T>(op: string, args: object, signal?: AbortSignal): Promise<T> =>
    (await ask(op, args, signal)) as T;
  return {
    list: (options = {}) => gives("list", options),
    inspect: (id) => gives("inspect", { id }),
    async *history(id, { after, limit = Number.POSITIVE_INFINITY } = {}) {
      let next = after;
      for (let left = limit; left > 0; ) {
        const page: HistoryPage = await gives("history", {
          id,
          ...(next === undefined ? {} : { after: next }),
          ...(Number.isFinite(left) ? { limit: left } : {}),
        });
        yield* page.events;
        left -= page.events.length;
        next = page.next;
        if (next === undefined) return;
      }
    },
    pause: (id) => done("pause", { id }),
    resume: (id) => done("resume", { id }),
    cancel: (id) => done("cancel", { id }),
    kill: (id) => done("kill", { id }),
    retry: (id, options) => done("retry", { ...options, id }),
    fork: (id, { id: newId, ...options } = {}) =>
      gives("fork", { ...options, id, ...(newId === undefined ? {} : { newId }) }),
    outcome: (id, options = {}) => awaitOutcome(gives, id, options),
    remove: (id) => done("remove", { id }),
    prune: (options = {}) => gives("prune", options),
    send: (id, topic, value, { id: messageId } = {}) =>
      done("send", { id, topic, value, ...(messageId === undefined ? {} : { messageId }) }),
    start: (name, input, options) => gives("start", { ...options, name, input }),
    metrics: () => gives<FlowMetrics>("metrics", {}),
    schedules: () => gives("schedules", {}),
    pauseSchedule: (name) => done("pauseSchedule", { name }),
    resumeSchedule: (name) => done("resumeSchedule", { name }),
    queues: () => gives("queues", {}),
    discharge: (id) => done("discharge", { id }),
    backup: (path) => done("backup", { path }),
  };
}

/** Asks again and again: a single request waits for `PROTOCOL_LIMITS.waitMs` at most. */
async function awaitOutcome(
  gives: <T>(op: string, args: object, signal?: AbortSignal) => Promise<T>,
  id: string,
  { timeoutMs = Number.POSITIVE_INFINITY, signal }: ResultOptions,
): Promise<FlowOutcome> {
  for (let left = timeoutMs; ; left -= PROTOCOL_LIMITS.waitMs) {
    const wait = Math.min(Math.max(left, 0), PROTOCOL_LIMITS.waitMs);
    const found = await gives<FlowOutcome | "pending">("outcome", { id, timeoutMs: wait }, signal);
    if (found !== "pending") return found;
    if (left <= PROTOCOL_LIMITS.waitMs) throw new FlowWaitTimeoutError(id, timeoutMs);
  }
}
