// The table of the operations on queues: from it are made what a program offers at its admin socket, and its client. A change has no error for an
// answer that does not come: a letter leaves the dead ones once, so it may be asked for again.

import { remoteOf } from "../../admin/operations/remote.js";
import { serviceOf } from "../../admin/operations/service.js";
import { ITEMS, type OperationTable, type SentOptions } from "../../admin/operations/table.js";
import type { AdminService } from "../../admin/post.js";
import type { Args, Ask } from "../../admin/protocol.js";
import type { DeedOptions } from "../messages/dead-options.js";
import type { QueueLetterFilter, QueueListFilter, QueueOperations } from "./operations.js";

const list = { kind: "list", leave: "look", page: ITEMS } as const;
const RANGE: SentOptions<QueueLetterFilter> = { after: true, limit: true };
const LIST: SentOptions<QueueListFilter> = { ...RANGE, atMost: true };
const DEED: SentOptions<DeedOptions> = { by: true, reason: true };

const QUEUE_TABLE: OperationTable<QueueOperations> = {
  list: { ...list, placed: [], options: LIST, behind: ({ name }) => ({ after: name }) },
  heartbeats: { kind: "ask", leave: "look", placed: ["queue"], options: { limit: true } },
  evidence: { kind: "ask", leave: "look", placed: [] },
  messages: { kind: "ask", leave: "look", placed: ["queue"], options: { state: true, limit: true } },
  deadLetters: { ...list, placed: ["queue"], options: RANGE, behind: ({ id }) => ({ after: id }) },
  deadRecords: {
    ...list,
    placed: ["queue"],
    options: { id: true, behind: true, limit: true },
    behind: ({ id, turn }) => ({ behind: { id, turn } }),
  },
  retryDead: { kind: "ask", leave: "change", placed: ["queue", "which"], options: DEED },
  editDead: { kind: "ask", leave: "change", placed: ["queue", "id", "value"], options: DEED },
  dropDead: { kind: "ask", leave: "remove", placed: ["queue", "which"], options: DEED },
};

/** The names of the operations on the socket begin so: hosts of flows and pipelines may share it. */
const PREFIX = "queues.";

/**
 * The operations on the queues of a program, for its admin socket and the program itself.
 *
 * @param has - whether its store has the queue of this name
 */
export function queueService(
  on: QueueOperations,
  has: (queue: string) => Promise<boolean> = async () => false,
): AdminService {
  const mine = (_op: string, { queue }: Args): Promise<boolean> => has(queue as string);
  return serviceOf(QUEUE_TABLE, on, { name: "queues", prefix: PREFIX, shares: true, mine });
}

/** Operations on queues at the other end of a connection. */
export function remoteOperations(ask: Ask): QueueOperations {
  return remoteOf(QUEUE_TABLE, ask, PREFIX);
}
