// The operations on flows over the protocol of admin sockets: as a host offers them, and as a client asks for them.

import type { AdminService } from "../../admin/post.js";
import {
  type AdminOperation,
  type Args,
  type Ask,
  askedAgain,
  PROTOCOL_LIMITS,
  pageLimit,
  pageOf,
  pendingAfter,
} from "../../admin/protocol.js";
import { FlowWaitTimeoutError } from "../runtime/errors.js";
import type { FlowEvent, FlowEventOptions } from "../runtime/event-page.js";
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
} from "./operations.js";

/** One operation: the names of its arguments, and how it is done. */
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
  events: { args: ["id", "after", "topic", "limit", "timeoutMs"], run: eventsPage },
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
  outcome: {
    args: ["id", "timeoutMs"],
    run: (on, args, signal) =>
      pendingAfter<FlowOutcome>(args, "ERR_FLOW_WAIT_TIMEOUT", (timeoutMs) =>
        on.outcome(id(args), { timeoutMs, signal }),
      ),
  },
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

/** The operations of a host of flows, for its admin socket. */
export function flowService(on: FlowOperations): AdminService {
  const bound = Object.entries(OPERATIONS).map(([name, { args, run }]): [string, AdminOperation] => [
    name,
    { args, run: (given, signal) => run(on, given, signal) },
  ]);
  return { name: "flows", shares: false, operations: new Map(bound) };
}

interface HistoryPage {
  readonly events: readonly HistoryEvent[];
  /** `after` of the next page. */
  readonly next?: number;
}

async function historyPage(on: FlowOperations, args: Args): Promise<HistoryPage> {
  const limit = pageLimit(args);
  const options = { ...rest<object>(args, "id", "limit"), limit };
  const { shown, isFull } = await pageOf(on.history(id(args), options), limit);
  const events = shown as unknown as readonly HistoryEvent[];
  const last = events.at(-1);
  return last !== undefined && isFull ? { events, next: last.seq } : { events };
}

interface EventsPage {
  readonly events: readonly FlowEvent[];
  /** No event comes behind them. */
  readonly isLast: boolean;
}

/** With `timeoutMs`, waits for the next event if there is none. */
async function eventsPage(on: FlowOperations, args: Args, signal: AbortSignal): Promise<EventsPage> {
  const limit = pageLimit(args);
  const options = rest<FlowEventOptions>(args, "id", "limit", "timeoutMs");
  const { shown, isFull } = await pageOf(on.events(id(args), { ...options, follow: false }), limit);
  const there = shown as unknown as readonly FlowEvent[];
  const isFollowed = args.timeoutMs !== undefined;
  if (there.length > 0 || !isFollowed) return { events: there, isLast: !isFollowed && !isFull };
  const next = await pendingAfter(args, "ERR_FLOW_WAIT_TIMEOUT", async (timeoutMs) => {
    for await (const event of on.events(id(args), { ...options, timeoutMs, signal })) return [event];
    return undefined;
  });
  return next === "pending"
    ? { events: [], isLast: false }
    : { events: next ?? [], isLast: next === undefined };
}

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
    async *events(id, { follow = true, timeoutMs = Number.POSITIVE_INFINITY, signal, ...options } = {}) {
      let after = options.after ?? 0;
      for (let left = timeoutMs; ; ) {
        const wait = follow ? { timeoutMs: Math.min(left, PROTOCOL_LIMITS.waitMs) } : {};
        const page: EventsPage = await gives("events", { ...options, id, after, ...wait }, signal);
        yield* page.events;
        if (page.isLast) return;
        after = page.events.at(-1)?.position ?? after;
        left = page.events.length > 0 ? timeoutMs : left - PROTOCOL_LIMITS.waitMs;
        if (follow && left <= 0) throw new FlowWaitTimeoutError(id, timeoutMs, "publish an event");
      }
    },
    pause: (id) => done("pause", { id }),
    resume: (id) => done("resume", { id }),
    cancel: (id) => done("cancel", { id }),
    kill: (id) => done("kill", { id }),
    retry: (id, options) => done("retry", { ...options, id }),
    fork: (id, { id: newId, ...options } = {}) =>
      gives("fork", { ...options, id, ...(newId === undefined ? {} : { newId }) }),
    outcome: (id, { timeoutMs = Number.POSITIVE_INFINITY, signal } = {}) =>
      askedAgain<FlowOutcome>(
        timeoutMs,
        (wait) => gives("outcome", { id, timeoutMs: wait }, signal),
        () => new FlowWaitTimeoutError(id, timeoutMs),
      ),
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
