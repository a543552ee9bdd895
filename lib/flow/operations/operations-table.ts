// The table of the operations on flows: from it are made what a host offers at its admin socket, and its client.

import { remoteOf } from "../../admin/operations/remote.js";
import { serviceOf } from "../../admin/operations/service.js";
import type { OperationTable, PageForm, SentOptions } from "../../admin/operations/table.js";
import type { AdminService } from "../../admin/post.js";
import type { Args, Ask } from "../../admin/protocol.js";
import { FlowOutcomeUnknownError, FlowWaitTimeoutError } from "../runtime/errors.js";
import type { FlowListOptions, FlowOperations, HistoryEvent } from "./operations.js";

const TIMEOUT = "ERR_FLOW_WAIT_TIMEOUT";

const LIST: SentOptions<FlowListOptions> = {
  status: true,
  name: true,
  version: true,
  idPrefix: true,
  queue: true,
  parent: true,
  createdFrom: true,
  createdBelow: true,
  updatedFrom: true,
  updatedBelow: true,
  order: true,
  limit: true,
  cursor: true,
};

/** `{ events, next }`, where `next` is the `after` of the next page. */
const HISTORY: PageForm = {
  pack: (items, isFull) => {
    const last = items.at(-1) as unknown as HistoryEvent | undefined;
    return last !== undefined && isFull ? { events: items, next: last.seq } : { events: items };
  },
  unpack: ({ events, next }: { readonly events: []; readonly next?: number }) => ({
    items: events,
    more: next !== undefined,
  }),
};

/** A change of the flow that comes first among the arguments. */
const change = (operation: string) =>
  ({
    kind: "ask",
    leave: "change",
    unknown: (cause: unknown, id: string) => new FlowOutcomeUnknownError(operation, id, cause),
  }) as const;
const schedule = (operation: string) =>
  ({
    kind: "ask",
    leave: "change",
    placed: ["name"],
    unknown: (cause: unknown, name: string) =>
      new FlowOutcomeUnknownError(operation, name, cause, "schedule"),
  }) as const;
const look = { kind: "ask", leave: "look" } as const;

const FLOW_TABLE: OperationTable<FlowOperations> = {
  list: { ...look, placed: [], options: LIST },
  inspect: { ...look, placed: ["id"] },
  history: {
    kind: "list",
    leave: "look",
    placed: ["id"],
    options: { after: true, limit: true },
    page: HISTORY,
    behind: ({ seq }) => ({ after: seq }),
  },
  events: {
    kind: "follow",
    leave: "look",
    placed: ["id"],
    more: ["limit"],
    options: { after: true, topic: true, follow: false, timeoutMs: true, signal: false },
    after: ({ position }) => position,
    timeout: TIMEOUT,
    late: (timeoutMs, id) => new FlowWaitTimeoutError(id, timeoutMs, "publish an event"),
  },
  timeline: { ...look, placed: ["id"], options: { limit: true } },
  pause: { ...change("pause"), placed: ["id"] },
  resume: { ...change("resume"), placed: ["id"] },
  cancel: { ...change("cancel"), placed: ["id"] },
  kill: { ...change("kill"), placed: ["id"] },
  retry: { ...change("retry"), placed: ["id"], options: { from: true } },
  fork: {
    ...change("fork"),
    placed: ["id"],
    options: { id: "newId", from: true, input: true, result: true },
  },
  outcome: {
    kind: "wait",
    leave: "look",
    placed: ["id"],
    options: { timeoutMs: true, signal: false },
    timeout: TIMEOUT,
    late: (timeoutMs, id) => new FlowWaitTimeoutError(id, timeoutMs),
  },
  remove: { ...change("remove"), leave: "remove", placed: ["id"] },
  prune: {
    kind: "ask",
    leave: "remove",
    placed: [],
    options: { status: true, name: true, olderThanMs: true, keep: true },
  },
  send: { ...change("send"), placed: ["id", "topic", "value"], options: { id: "messageId" } },
  start: {
    kind: "ask",
    leave: "change",
    placed: ["name", "input"],
    options: { id: true },
    // Without an id there is nothing to look at.
    unknown: (cause, _name, _input, options) =>
      options?.id === undefined ? undefined : new FlowOutcomeUnknownError("start", options.id, cause),
  },
  evidence: { ...look, placed: [] },
  counts: { ...look, placed: [] },
  metrics: { ...look, placed: [] },
  schedules: { ...look, placed: [], options: { after: true, limit: true } },
  pauseSchedule: schedule("pauseSchedule"),
  resumeSchedule: schedule("resumeSchedule"),
  queues: { ...look, placed: [], options: { atMost: true } },
  queueKeys: { ...look, placed: ["queue"], options: { atMost: true, limit: true } },
  discharge: { ...change("discharge"), placed: ["id"] },
  backup: { kind: "ask", leave: "change", placed: ["path"] },
};

/**
 * The operations of a host of flows, for its admin socket and its program.
 *
 * @param has - whether the host has a definition of this name: of several hosts, that one starts its flows. Default: it has none
 */
export function flowService(on: FlowOperations, has: (flow: string) => boolean = () => false): AdminService {
  const mine = async (op: string, { id, name, queue }: Args): Promise<boolean> => {
    if (op === "start") return has(name as string);
    if (op === "pauseSchedule" || op === "resumeSchedule")
      return (await on.schedules()).some((one) => one.name === name);
    if (op === "queueKeys") return (await on.queues({ atMost: 1 })).some((one) => one.name === queue);
    // The place of a backup names nothing that is there.
    return op !== "backup" && (await hasFlow(on, id as string));
  };
  return serviceOf(FLOW_TABLE, on, { name: "flows", shares: false, mine });
}

async function hasFlow(on: FlowOperations, id: string): Promise<boolean> {
  const { flows } = await on.list({ idPrefix: id, limit: 1 });
  return flows[0]?.id === id;
}

/** Operations on flows at the other end of a connection. */
export function remoteOperations(ask: Ask): FlowOperations {
  return remoteOf(FLOW_TABLE, ask);
}
