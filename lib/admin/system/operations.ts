// The operations on a running system: its processes, supervisors, topologies, groups of consumers and nodes. The host
// of a store offers them at its admin socket, to the command `signalbox system`.

import type { ConsumerFigures } from "../../dispatch/watcher.js";
import type { RemoteNode } from "../../process/pid.js";
import type { SessionView } from "../../process/session-view.js";
import type { ChildInfo, SupervisorState } from "../../supervisor/ref.js";
import type { TaskFigures } from "../../topology/runtime/task-info.js";
import type { HistoryOperations } from "../history/operations.js";
import type { ProcessOperations, ProcessSummary } from "./processes/operations.js";

export type { ProcessSummary };

import type { TraceOperations } from "../traces/trace-operations.js";
import type { GraphOperations } from "./graph-operations.js";

/** Which of a list that is in the order of pids. */
export interface PidRange {
  /** Only those behind this pid, such as `shop.7`. */
  readonly after?: string;
  /** Most of them, 1 or more. Default: all. */
  readonly limit?: number;
}

/** Which parts of a supervisor, topology or group, or which nodes. They are numbered from 1, in their order when the list was asked for. */
export interface PartRange {
  /** Only those behind this one. */
  readonly after?: number;
  /** Most of them, 1 or more. Default: all. */
  readonly limit?: number;
}

/** A part with its number. */
type Placed<T> = T & { readonly place: number };

/** One process. Of the pids in its lists, the first 100. */
export interface ProcessDetails extends ProcessSummary {
  readonly groups: readonly string[];
  readonly trapExit: boolean;
  readonly links: PidList;
  readonly monitors: PidList;
  readonly monitoredBy: PidList;
}

/** Some pids of a list, and how many it has. */
export interface PidList {
  readonly count: number;
  readonly first: readonly string[];
}

/** A supervisor in a list. */
export interface SupervisorSummary
  extends Pick<SupervisorState, "strategy" | "intensity" | "periodMs" | "restarts">,
    Pick<ProcessSummary, "pid" | "label" | "name" | "parent"> {
  readonly children: number;
}

/** A child of a supervisor. */
export type ChildSummary = Placed<Omit<ChildInfo, "pid"> & { readonly pid?: string | undefined }>;

/** A topology in a list. */
export interface TopologySummary {
  readonly pid: string;
  readonly name: string;
  readonly phase: string;
  readonly uptimeMs: number;
  readonly restarts: number;
  readonly tasks: number;
  /** Reliable tuples of its spouts that are not settled. */
  readonly pending: number;
  /** Tuples in the mailboxes of its tasks. */
  readonly waiting: number;
}

/** A task of a topology. */
export type TaskSummary = Placed<Omit<TaskFigures, "pid"> & { readonly pid?: string | undefined }>;

/** A group of consumers in a list. */
export interface GroupSummary {
  readonly pid: string;
  readonly name: string;
  readonly consumers: number;
  /** Envelopes that its consumers were given and have not settled. */
  readonly inFlight: number;
  /** Dispatches that wait for a consumer. */
  readonly waiting: number;
}

/** A consumer of a group. */
export type ConsumerSummary = Placed<Omit<ConsumerFigures, "pid"> & { readonly pid: string }>;

/** A node that the system knows, and the session with it. */
export type NodeSummary = Placed<
  Pick<RemoteNode, "id" | "name"> & {
    /** What the session does. `here`: it is the system itself, which has none. */
    readonly state: SessionView["state"] | "here";
    /** The session. Undefined for the system itself. */
    readonly session?: Omit<SessionView, "node" | "state">;
  }
>;

/** The operations. A process is named by its pid or its registered name; a topology and a group also by their own names. */
export interface SystemOperations
  extends HistoryOperations,
    ProcessOperations,
    GraphOperations,
    TraceOperations {
  /** The processes alive, the oldest first. @throws OptionError */
  processes(filter?: PidRange): AsyncIterable<ProcessSummary>;
  /** @throws NoProcessError */
  process(id: string): Promise<ProcessDetails>;
  /** The supervisors, the oldest first: a supervisor comes before those below it. @throws OptionError */
  supervisors(filter?: PidRange): AsyncIterable<SupervisorSummary>;
  /** @throws NoProcessError, OptionError */
  children(id: string, filter?: PartRange): AsyncIterable<ChildSummary>;
  /** @throws OptionError */
  topologies(filter?: PidRange): AsyncIterable<TopologySummary>;
  /** The tasks of a topology, the ackers first. @throws NoProcessError, OptionError */
  tasks(id: string, filter?: PartRange): AsyncIterable<TaskSummary>;
  /** The groups that have had consumers in this system. @throws OptionError */
  groups(filter?: PidRange): AsyncIterable<GroupSummary>;
  /** @throws NoProcessError, OptionError */
  consumers(id: string, filter?: PartRange): AsyncIterable<ConsumerSummary>;
  /** The system itself, and the nodes that it knows. None, when it is not connected to other nodes. @throws OptionError */
  nodes(filter?: PartRange): AsyncIterable<NodeSummary>;
}
