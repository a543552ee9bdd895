// The operations on the history of a system: what went wrong in it, and what has changed, as long as somebody looks.

import type { RestartStrategy } from "../../supervisor/protocol.js";
import type { PastTree, TreeAtOptions } from "./past-tree.js";

/** Kinds of incidents: most are events of the system by their names; `crash` is the end of any process that ended abnormally. */
export type IncidentKind =
  | "crash"
  | "restart"
  | "gaveUp"
  | "deadLetter"
  | "discardedReply"
  | "highWater"
  | "longTurn"
  | "lateError"
  | "reroute"
  | "undeliverable"
  | "deadTuple"
  | "topologyRestart"
  | "breaker"
  | "hospital"
  | "stranded"
  | "storeOutage"
  | "nodeUp"
  | "nodeDown"
  | "nodeRefused"
  | "application"
  | "action";

/** Something that happened in a system. Texts are cut, and hold no message: of the last message there is its kind alone. */
export interface Incident {
  /** Rises from incident to incident. */
  readonly number: number;
  /** When, in milliseconds since 1970. */
  readonly at: number;
  readonly kind: IncidentKind;
  /** How often: the same thing again within a second is the same incident, for a minute at most. */
  readonly count: number;
  /** When it was so the last time. */
  readonly lastAt: number;
  /** The process concerned, such as `shop.7`; of several, the first. */
  readonly pid?: string | undefined;
  readonly label?: string | undefined;
  /** The names from the system down to the process. */
  readonly path?: string | undefined;
  /** In one line, for people. */
  readonly text: string;
  /** An exit reason. */
  readonly reason?: string | undefined;
  readonly error?: IncidentError | undefined;
  /** The kind of the message that the process was handling: `call take`, `cast restock`, `message Order`. */
  readonly last?: string | undefined;
  /** How many processes ended with a process that crashed, along links. */
  readonly linked?: number | undefined;
  /** The number of the incident that this one came from: of a restart or a re-routing, the crash. */
  readonly cause?: number | undefined;
  readonly restart?: IncidentRestart | undefined;
  readonly reroute?: IncidentReroute | undefined;
  /** The id of the flow concerned. */
  readonly flow?: string | undefined;
  /** The label of the circuit breaker concerned. */
  readonly breaker?: string | undefined;
  /** The name of the other node. */
  readonly node?: string | undefined;
}

export interface IncidentError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  /** The frames of its stack that are the user's. */
  readonly frames: readonly string[];
  /** How many other frames its stack has: those of the library, of Node, and those too many to show. */
  readonly hidden: number;
}

export interface IncidentRestart {
  /** The pid of the supervisor. */
  readonly supervisor: string;
  readonly supervisorLabel?: string | undefined;
  /** The id of the child that ended. */
  readonly id: string;
  readonly strategy: RestartStrategy | string;
  /** Children that ran and are restarted with it; of very many, the first 20. */
  readonly siblings: readonly string[];
  /** Restarts that are allowed within `periodMs`; null: any number. */
  readonly intensity: number | null;
  /** How many of these are left; null: any number. */
  readonly intensityLeft: number | null;
  readonly periodMs: number | null;
  /** How long the supervisor waits before it restarts. */
  readonly delayMs: number;
}

export interface IncidentReroute {
  readonly group: string;
  /** The id of the envelope; of several, the first. */
  readonly envelope: string;
  /** The id of the consumer that ended. */
  readonly from: string;
  /** The id of the consumer that got the envelope then. */
  readonly to?: string | undefined;
  /** The number of the attempt that began then. */
  readonly attempt: number;
  /** Milliseconds from the end of the first consumer to the new attempt. */
  readonly tookMs?: number | undefined;
}

/** Which incidents. */
export interface IncidentFilter {
  /** Only those behind this number. */
  readonly after?: number;
  /** Most of them, 1 or more. Default: all. */
  readonly limit?: number;
  readonly kind?: string;
  /** Only those of this process, such as `shop.7`, or of the children of this supervisor. */
  readonly pid?: string;
}

/** Which of the latest incidents. */
export interface RecentFilter {
  /** Most of them, 1 to 500. Default 100. */
  readonly limit?: number;
  readonly kind?: string;
  /** Only those of this process, such as `shop.7`, or of the children of this supervisor. */
  readonly pid?: string;
  /** Only those that began before this time, in milliseconds since 1970. */
  readonly beforeAt?: number;
}

/** A system at a glance. */
export interface Overview {
  readonly name: string;
  /** The id of its node. */
  readonly id: string;
  /** When this was so, in milliseconds since 1970. */
  readonly at: number;
  readonly uptimeMs: number;
  /** Since when its history is kept, in milliseconds since 1970. */
  readonly keepsSince: number;
  readonly processes: number;
  /** Messages and signals a second, of all processes. */
  readonly handledPerS?: number | undefined;
  /** Since its history is kept, and within the last minute. Kinds without any are left out. */
  readonly counts: { readonly [Kind in IncidentKind]?: { readonly total: number; readonly minute: number } };
  /** Turns that took too long, by `longTurnMs`. */
  readonly turns: { readonly late: number; readonly lastLateMs?: number | undefined };
  /** In bytes. */
  readonly memory: { readonly heapUsed: number; readonly heapTotal: number; readonly rss: number };
  /** The deepest mailboxes that are not empty, at most 5. */
  readonly deepest: readonly {
    readonly pid: string;
    readonly label?: string | undefined;
    readonly name?: string | undefined;
    readonly mailboxDepth: number;
  }[];
  /** Circuit breakers that were not closed when they changed last. */
  readonly breakers: readonly { readonly name: string; readonly state: string; readonly since: number }[];
  /** What is not as it was a minute ago: figures then and now; of a kind of incident, how many in the minute before and in this one. */
  readonly minute: readonly { readonly what: string; readonly before: number; readonly now: number }[];
  /** The latest 20, the newest first. */
  readonly recent: readonly Incident[];
}

/** The operations. A history begins with the first look at it, and is kept for 30 seconds after the last one, or while an observer runs. */
export interface HistoryOperations {
  /** What happened, in the order of the numbers. @throws OptionError */
  incidents(filter?: IncidentFilter): AsyncIterable<Incident>;
  /** The latest incidents, the newest first. @throws OptionError */
  recent(filter?: RecentFilter): Promise<readonly Incident[]>;
  overview(): Promise<Overview>;
  /** The supervision tree at a time of the last ten minutes. @throws OptionError */
  treeAt(options?: TreeAtOptions): Promise<PastTree>;
}
