// The operations on all flows of a store: to find flows, to look at them, and to change their course. A host offers them to its
// program, and over its admin socket to the command `signalbox flows`.

import type { EvidenceView } from "../../host/index.js";
import type { FlowStatus } from "../journal/tables.js";
import type { QueueInfo } from "../queues/info.js";
import type { QueueKeys } from "../queues/key-counts.js";
import type { FlowEvent, FlowEventOptions } from "../runtime/event-page.js";
import type { ScheduleInfo } from "../schedules/schedules.js";
import type { FlowAside } from "./aside.js";
import type { TimelineItem } from "./timeline.js";

export type { FlowStatus };

/** The statuses of flows that have ended. */
export const ENDED_STATUSES: readonly FlowStatus[] = ["completed", "failed", "cancelled", "killed"];
/** All statuses, in the order in which people want to see them. */
export const FLOW_STATUSES: readonly FlowStatus[] = [
  ...(["pending", "running", "waiting", "paused", "hospitalized"] as const),
  ...ENDED_STATUSES,
];

/** A flow in a list. Times are milliseconds since 1970, by the clock of the store. */
export interface FlowSummary {
  /** The id of the flow. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
  /** What it is doing, or how it ended. */
  readonly status: FlowStatus;
  /** When it was started, in milliseconds since 1970. */
  readonly createdAt: number;
  /** When its row last changed, in milliseconds since 1970. */
  readonly updatedAt: number;
  /** When it ended, in milliseconds since 1970. */
  readonly finishedAt?: number;
  /** When it wants to run next. */
  readonly dueAt?: number;
  /** The id of the flow that started it. */
  readonly parent?: string;
  /** The queue to which it belongs. */
  readonly queue?: string;
  /**
   * An operation that was requested and has not happened yet: `pause`, `cancel`, `kill`, or `observe` with a reason. `fork` while the
   * journal of a fork is being copied.
   */
  readonly wish?: string;
  /** Why it is in the hospital, or failed: one line. */
  readonly problem?: string;
}

/** Which flows a list has. All that is given must hold. */
export interface FlowFilter {
  /** Flows of this status, or of one of these. */
  readonly status?: FlowStatus | readonly FlowStatus[];
  /** The name of the definition. */
  readonly name?: string;
  /** Flows of this version of their definition. */
  readonly version?: number;
  /** Flows whose ids begin so. */
  readonly idPrefix?: string;
  /** Flows of this queue. */
  readonly queue?: string;
  /** The id of the flow that started them. */
  readonly parent?: string;
  /** `from` inclusive, `below` exclusive: milliseconds since 1970. */
  readonly createdFrom?: number;
  /** Flows that were started before this time. */
  readonly createdBelow?: number;
  /** Flows that changed at this time or later. */
  readonly updatedFrom?: number;
  /** Flows that last changed before this time. */
  readonly updatedBelow?: number;
}

/** A list, page by page. */
export interface FlowListOptions extends FlowFilter {
  /** The order of their starts. Default `newest`. */
  readonly order?: "newest" | "oldest";
  /** Most flows of a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** A page of a list. */
export interface FlowPage {
  /** The flows of this page, in the order asked for. */
  readonly flows: readonly FlowSummary[];
  /** Gives the next page as `cursor`. Absent: there are no more. A page may be short, or empty, and still have a next. */
  readonly next?: string;
}

/** Something that the code of a flow waits for. */
export interface PendingAsk {
  /** `step`, `sleep`, `receive`, … */
  readonly kind: string;
  /** The name, with `#2` and so on when it was used before. */
  readonly key: string;
  /** When it ends by itself, or is tried again. */
  readonly dueAt?: number;
  /** How many attempts have failed. */
  readonly attempts?: number;
}

/** A message that a flow has not received yet. */
export interface WaitingMessage {
  /** The id that the sender gave. */
  readonly id: string;
  /** The topic. */
  readonly topic: string;
  /** When it was sent, in milliseconds since 1970. */
  readonly at: number;
  /** The id of the flow that sent it; absent for a message from outside. */
  readonly sender?: string;
}

/** A flow as `inspect` shows it. */
export interface FlowDetails extends FlowSummary {
  /** The input of the flow. */
  readonly input: unknown;
  /** Of a completed flow. */
  readonly result?: unknown;
  /** Of a failed flow. */
  readonly error?: unknown;
  /** The last value that its code gave `flow.progress`. */
  readonly progress?: unknown;
  /** The last heartbeats of steps that run: the key of the step, when, and what it said. */
  readonly heartbeats?: unknown;
  /** How often its journal was begun anew by `continueAsNew`. */
  readonly generation: number;
  /** The fencing token of the host that holds it. */
  readonly holder?: number;
  /** How many entries its journal has. */
  readonly entries: number;
  /** The asks that the code waits for, as its journal has them. Asks since the last entry are not among them. */
  readonly pending: readonly PendingAsk[];
  /** Its messages that wait, the oldest first: the first 100. */
  readonly mail: readonly WaitingMessage[];
  /** The flows that it started. */
  readonly children: readonly FlowSummary[];
  /** Its medical record, if it is or was in the hospital. */
  readonly hospital?: unknown;
}

/** One event of a flow's history: an entry of its journal. */
export interface HistoryEvent {
  /** 0 for the first. */
  readonly seq: number;
  /** When it was recorded, in milliseconds since 1970. */
  readonly at: number;
  /** `done`: a step or wait has its result. `error`: it failed. `begun`: a wait began. `retry`: an attempt failed. */
  readonly type: "done" | "error" | "begun" | "retry" | "cancelled" | "unreadable";
  /** The step or wait that it decides. */
  readonly key?: string;
  /** The result, or the error. */
  readonly value?: unknown;
  /** The number of the attempt that failed. */
  readonly attempt?: number;
  /** When the wait ends, or the next attempt begins, in milliseconds since 1970. */
  readonly dueAt?: number;
  /** What the code asked for since the event before: kind and key. */
  readonly asks: readonly { readonly kind: string; readonly key: string }[];
}

/** Options of a history. */
export interface HistoryOptions {
  /** Only events behind this number. Default -1: from the first. */
  readonly after?: number;
  /** Most events. Default: all. */
  readonly limit?: number;
}

/** A wait with an end. */
export interface ResultOptions {
  /** Default: no limit. */
  readonly timeoutMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** How a flow has ended. */
export type FlowOutcome =
  | { readonly status: "completed"; readonly result: unknown }
  | { readonly status: "failed" | "cancelled" | "killed"; readonly error: unknown };

/** Where a flow is tried again. */
export interface FlowRetryOptions {
  /**
   * The key of a step or wait, such as `charge` or `charge#2`: it and all that came after are forgotten and done again. Default: what
   * failed last.
   */
  readonly from?: string;
}

/** What differs in a fork. */
export interface FlowForkOptions {
  /** The id of the new flow. Default: a new id. */
  readonly id?: string;
  /**
   * The journal is copied up to this step or wait, which is done again. Default: everything is done again. Messages that the flow received from
   * there on, or has not received yet, are copied.
   */
  readonly from?: string;
  /** Another input. Only without `from`: the recorded steps came from the old input. */
  readonly input?: unknown;
  /** Another result of the step `from`: the step is not done again, and the code gets this. */
  readonly result?: unknown;
}

/** A start by name. */
export interface FlowStartOptions {
  /** The id: a flow that has it already is re-attached, not doubled. Default: a new id. */
  readonly id?: string;
}

/** A message by topic. */
export interface FlowSendOptions {
  /** A second message with this id to this flow is dropped. Default: a new id. */
  readonly id?: string;
}

/** Which flows to remove. Only flows that have ended are removed, and no child whose parent has not. */
export interface FlowPruneOptions {
  /** Which states. Default: all that have ended. */
  readonly status?: FlowStatus | readonly FlowStatus[];
  /** Only flows of this name. */
  readonly name?: string;
  /** Only flows that have ended so long ago, in milliseconds. Default 0. */
  readonly olderThanMs?: number;
  /** Keeps so many of the selected flows: those that ended last. Default 0. */
  readonly keep?: number;
}

/** How a host, or several, do. */
export interface FlowMetrics {
  /** How many flows are in each state. */
  readonly counts: Readonly<Record<FlowStatus, number>>;
  /** How many milliseconds the flow that waits longest for its turn has waited. Absent: none waits. */
  readonly oldestPendingMs?: number;
  /** By how many milliseconds the most overdue flow is late. 0: none is. */
  readonly lagMs: number;
  /** How many attempts of steps are due again, among the flows that wait for people or timers: flows in the hospital. */
  readonly inHospital: number;
}

/** Options of a timeline. */
export interface FlowTimelineOptions {
  /** Most entries of the journal that are read, from its end: 1 to 1,000. Default 200. */
  readonly limit?: number;
}

/** A flow as a page shows it while it runs. A look costs the same however long its journal is. */
export interface FlowTimeline {
  readonly flow: FlowSummary;
  /** When this was read, in milliseconds since 1970 by the clock of the store. */
  readonly at: number;
  /** How often its journal was begun anew by `continueAsNew`. */
  readonly generation: number;
  /** The fencing token of the host that holds it. Absent: none does. */
  readonly holder?: number;
  /** What its code asked for, in this order. Those without an outcome are what it waits for. */
  readonly items: readonly TimelineItem[];
  /** Earlier entries of the journal were not read. */
  readonly isCut: boolean;
  /** Its messages that wait, the oldest first: the first 100. */
  readonly mail: readonly WaitingMessage[];
  /** The flows that it started: the first 100. */
  readonly children: readonly FlowSummary[];
  /** The last value that its code gave `flow.progress`. */
  readonly progress?: unknown;
  /** The last heartbeats of steps that run: the key of the step, when, and what it said. */
  readonly heartbeats?: unknown;
  /** Why it stands aside, or did. Absent: nothing was wrong with it. */
  readonly aside?: FlowAside;
}

/** Which schedules are listed. They are in the order of their names. */
export interface ScheduleListOptions {
  /** Only those behind this name. */
  readonly after?: string;
  /** Most schedules, 1 or more. Default: all. */
  readonly limit?: number;
}

/** How far the flows of queues are counted. */
export interface QueueCountOptions {
  /** Each count ends there, so that a look costs the same however many flows there are. Default: no limit. */
  readonly atMost?: number;
}

/** Which keys of a queue are listed. */
export interface QueueKeyOptions extends QueueCountOptions {
  /** Most keys that wait, and most that run: 1 to 100. Default 50. */
  readonly limit?: number;
}

/** How many flows there are of each status. */
export interface FlowCounts {
  readonly counts: Readonly<Record<FlowStatus, number>>;
  /** No status is counted further: so many of it may be more. */
  readonly atMost: number;
}

/** The operations. All of them reject with FlowNotFoundError for an id that no flow has. */
export interface FlowOperations {
  /** Flows, page by page. @throws OptionError */
  list(options?: FlowListOptions): Promise<FlowPage>;
  /** A flow and what it waits for. */
  inspect(id: string): Promise<FlowDetails>;
  /** What a flow has done, in its order. */
  history(id: string, options?: HistoryOptions): AsyncIterable<HistoryEvent>;
  /** A flow as a page shows it: the end of its journal as a timeline, what it waits for, and why it stands aside. @throws OptionError */
  timeline(id: string, options?: FlowTimelineOptions): Promise<FlowTimeline>;
  /**
   * The events that a flow publishes with `flow.emit`: first the stored ones, then new ones until the flow has ended.
   *
   * @throws FlowWaitTimeoutError
   */
  events(id: string, options?: FlowEventOptions): AsyncIterable<FlowEvent>;
  /** Stops a flow at its next ask, until it is resumed. @throws FlowStateError when it has ended */
  pause(id: string): Promise<void>;
  /** Lets a paused flow go on. @throws FlowStateError when it is not paused */
  resume(id: string): Promise<void>;
  /** Asks a flow to end: all it waits for rejects, and its code may clean up. @throws FlowStateError when it has ended */
  cancel(id: string): Promise<void>;
  /** Ends a flow without running its code again. @throws FlowStateError when it has ended */
  kill(id: string): Promise<void>;
  /** Does what failed again, or all from a named step on. @throws FlowStateError when it neither failed nor waits for people */
  retry(id: string, options?: FlowRetryOptions): Promise<void>;
  /** A new flow with the history of this one up to a step. Gives its id. */
  fork(id: string, options?: FlowForkOptions): Promise<string>;
  /** Waits for the end of a flow. @throws FlowWaitTimeoutError, FlowInHospitalError when its code took another way than the one recorded */
  outcome(id: string, options?: ResultOptions): Promise<FlowOutcome>;
  /** Removes a flow that has ended, and all that belongs to it. @throws FlowStateError when it, or its parent, has not ended */
  remove(id: string): Promise<void>;
  /** Removes flows that have ended. Gives how many. */
  prune(options?: FlowPruneOptions): Promise<number>;
  /** Sends a message to a flow. @throws FlowStateError when it has ended */
  send(id: string, topic: string, value: unknown, options?: FlowSendOptions): Promise<void>;
  /** Starts a flow by the name of its definition. Gives its id. @throws UnknownFlowError when no host has the definition */
  start(name: string, input: unknown, options?: FlowStartOptions): Promise<string>;
  /**
   * What the evidence of its hosts says: which flows are accused of ending programs and are not in the hospital yet, which are suspected, and whether
   * a search makes others wait. Of the host that is asked; without a host, of those that have written beside the file of the store.
   */
  evidence(): Promise<readonly EvidenceView[]>;
  /** How many flows there are of each status: no further than a page needs. */
  counts(): Promise<FlowCounts>;
  /** Counts and delays. All flows are counted. */
  metrics(): Promise<FlowMetrics>;
  /** The schedules of the store, by name. @throws OptionError */
  schedules(options?: ScheduleListOptions): Promise<readonly ScheduleInfo[]>;
  /** A schedule starts nothing until it is resumed. @throws ScheduleNotFoundError */
  pauseSchedule(name: string): Promise<void>;
  /** A schedule goes on from now and skips the due times in the meantime. @throws ScheduleNotFoundError */
  resumeSchedule(name: string): Promise<void>;
  /** The queues of the store, by name. @throws OptionError */
  queues(options?: QueueCountOptions): Promise<readonly QueueInfo[]>;
  /**
   * The keys of a queue: how many flows of each wait and run. Of many keys, those of the highest priority that wait, and those that run, both in the
   * order of the keys.
   *
   * @throws OptionError
   */
  queueKeys(queue: string, options?: QueueKeyOptions): Promise<QueueKeys>;
  /** Lets a flow of the hospital go on at once. @throws FlowStateError when it is not there */
  discharge(id: string): Promise<void>;
  /** Writes a copy of the store to a new file, while all goes on. */
  backup(path: string): Promise<void>;
}
