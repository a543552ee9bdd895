// The table of the operations on a system: the service at the admin socket of a host and its client are made of it.

import type { Kernel } from "../../process/kernel.js";
import { HISTORY_ROWS } from "../history/history-table.js";
import { passedOn } from "../operations/passing.js";
import { remoteOf } from "../operations/remote.js";
import { serviceOf } from "../operations/service.js";
import { ITEMS, type OperationTable, type SentOptions } from "../operations/table.js";
import type { AdminService } from "../post.js";
import type { Ask } from "../protocol.js";
import { TRACE_ROWS } from "../traces/trace-operations.js";
import { GRAPH_ROWS } from "./graph-operations.js";
import type { PidRange, SystemOperations } from "./operations.js";

const RANGE: SentOptions<PidRange> = { after: true, limit: true };
const list = { kind: "list", leave: "look", page: ITEMS, options: RANGE } as const;
const byPid = {
  ...list,
  placed: [],
  behind: ({ pid }: { readonly pid: string }) => ({ after: pid }),
} as const;
const placed = { ...list, behind: ({ place }: { readonly place: number }) => ({ after: place }) } as const;
const byId = { kind: "ask", leave: "look", placed: ["id"] } as const;
const byPlace = { ...placed, placed: ["id"] } as const;

const SYSTEM_TABLE: OperationTable<SystemOperations> = {
  processes: byPid,
  process: byId,
  supervisors: byPid,
  children: byPlace,
  topologies: byPid,
  tasks: byPlace,
  groups: byPid,
  consumers: byPlace,
  nodes: { ...placed, placed: [] },
  ...HISTORY_ROWS,
  top: {
    kind: "ask",
    leave: "look",
    placed: [],
    options: { by: true, limit: true, find: true, kind: true },
  },
  state: byId,
  trace: byId,
  suspend: { ...byId, leave: "change" },
  resume: { ...byId, leave: "change" },
  ...GRAPH_ROWS,
  ...TRACE_ROWS,
};

const PREFIX = "system.";

/** The operations on a system, for the admin socket of a host in it. Their code is loaded when somebody first looks. */
export function systemService(kernel: Kernel): AdminService {
  const on = async (): Promise<SystemOperations> =>
    (await import("./kernel-operations.js")).operationsOn(kernel);
  return serviceOf(SYSTEM_TABLE, passedOn(SYSTEM_TABLE, { on, isOver: () => false, own: {} }), {
    name: "system",
    prefix: PREFIX,
    shares: true,
    system: kernel.node,
  });
}

/** Operations on the system at the other end of a connection. @param system - its name, where several listen at the socket */
export function remoteOperations(ask: Ask, system?: string): SystemOperations {
  if (system === undefined) return remoteOf(SYSTEM_TABLE, ask, PREFIX);
  return remoteOf(SYSTEM_TABLE, (op, args, ...rest) => ask(op, { ...args, system }, ...rest), PREFIX);
}
