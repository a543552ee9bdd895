// The table of the operations on executions: from it are made what a host offers at its admin socket, its client, and the operations of a
// handle.

import { remoteOf } from "../../admin/operations/remote.js";
import { serviceOf } from "../../admin/operations/service.js";
import { ITEMS, type OperationTable, type SentOptions } from "../../admin/operations/table.js";
import type { AdminService } from "../../admin/post.js";
import type { Args, Ask } from "../../admin/protocol.js";
import type { DeedOptions } from "../messages/dead-options.js";
import { ExecutionNotFoundError, ExecutionOutcomeUnknownError, ExecutionWaitTimeoutError } from "./errors.js";
import {
  allPages,
  type ExecutionListOptions,
  type MessageFilter,
  type MessageRange,
  type PipelineOperations,
} from "./operations.js";
import { checkWait } from "./waits.js";

const LIST: SentOptions<ExecutionListOptions> = {
  status: true,
  pipeline: true,
  idPrefix: true,
  createdFrom: true,
  createdBelow: true,
  order: true,
  limit: true,
  cursor: true,
};
const DEED: SentOptions<DeedOptions> = { by: true, reason: true };
const RANGE: SentOptions<MessageRange> = { after: true, limit: true };
const FILTER: SentOptions<MessageFilter> = { ...RANGE, route: true };
const WAIT = { timeoutMs: true, signal: false } as const;

const look = { kind: "ask", leave: "look", placed: ["id"] } as const;
const list = { kind: "list", leave: "look", page: ITEMS } as const;
const byId = { behind: ({ id }: { readonly id: string }) => ({ after: id }) };
/** A change of the execution that comes first among the arguments. */
const change = (operation: string) =>
  ({
    kind: "ask",
    leave: "change",
    unknown: (cause: unknown, id: string) => new ExecutionOutcomeUnknownError(operation, id, cause),
  }) as const;

/** @internal */
export const PIPELINE_TABLE: OperationTable<PipelineOperations> = {
  list: { kind: "ask", leave: "look", placed: [], options: LIST },
  executions: { kind: "made", of: (on) => (options) => allPages(on, options) },
  status: look,
  inspect: { ...look, options: { atMost: true } },
  routes: look,
  evidence: { kind: "ask", leave: "look", placed: [] },
  counts: { kind: "ask", leave: "look", placed: [] },
  delayed: { ...look, options: { queue: true, limit: true } },
  lineage: { ...look, placed: ["id", "message"] },
  children: { ...list, ...byId, placed: ["id", "message"], options: RANGE },
  batch: { ...list, ...byId, placed: ["id", "message"], options: RANGE },
  messages: { ...list, ...byId, placed: ["id"], options: FILTER },
  failures: { ...list, ...byId, placed: ["id"], options: FILTER },
  deadLetters: {
    ...list,
    placed: ["id"],
    options: { route: true, behind: true, limit: true },
    behind: ({ queue, id }) => ({ behind: { queue, id } }),
  },
  deadRecords: {
    ...list,
    placed: ["id"],
    options: { message: true, behind: true, limit: true },
    behind: ({ queue, id, turn }) => ({ behind: { queue, id, turn } }),
  },
  retryDead: { ...change("retryDead"), placed: ["id", "which"], options: DEED },
  editDead: { ...change("editDead"), placed: ["id", "message", "value"], options: DEED },
  dropDead: { ...change("dropDead"), leave: "remove", placed: ["id", "which"], options: DEED },
  outcome: {
    kind: "wait",
    leave: "look",
    placed: ["id"],
    options: WAIT,
    timeout: "ERR_PIPELINE_WAIT_TIMEOUT",
    late: (timeoutMs, id) => new ExecutionWaitTimeoutError(id, timeoutMs),
  },
  pause: { ...change("pause"), placed: ["id"] },
  resume: { ...change("resume"), placed: ["id"] },
  cancel: { ...change("cancel"), leave: "remove", placed: ["id"] },
  giveUp: {
    ...change("giveUp"),
    leave: "remove",
    check: checkWait,
    placed: ["id"],
    options: {
      ...DEED,
      ...WAIT,
      messages: true,
      queues: true,
      sources: true,
      stranded: true,
      all: true,
      limit: true,
    },
  },
  move: {
    ...change("move"),
    check: checkWait,
    placed: ["id"],
    options: { ...DEED, ...WAIT, to: true, messages: true, queues: true, limit: true },
  },
  replay: {
    ...change("replay"),
    check: checkWait,
    placed: ["id"],
    options: {
      ...DEED,
      ...WAIT,
      id: "newId",
      messages: true,
      dead: true,
      again: true,
      route: true,
      partial: true,
    },
    unknown: (cause, of, { id = of }) => new ExecutionOutcomeUnknownError("replay", id, cause),
  },
};

/**
 * The operations of a host of pipelines, for its admin socket and its program.
 *
 * @param has - whether the host has the pipeline of this name: of several hosts, that one changes its executions
 */
export function pipelineService(on: PipelineOperations, has: (pipeline: string) => boolean): AdminService {
  const mine = async (_op: string, { id }: Args): Promise<boolean> => {
    try {
      return has((await on.status(id as string)).pipeline);
    } catch (error) {
      // A host of another store may have it. Any other error says that this one cannot tell.
      if (error instanceof ExecutionNotFoundError) return false;
      throw error;
    }
  };
  return serviceOf(PIPELINE_TABLE, on, { name: "pipelines", prefix: PREFIX, shares: true, mine });
}

/** The names of the operations on the socket begin so: a host of flows may share it. */
const PREFIX = "pipelines.";

/** Operations on executions at the other end of a connection. */
export function remoteOperations(ask: Ask): PipelineOperations {
  return remoteOf(PIPELINE_TABLE, ask, PREFIX);
}
