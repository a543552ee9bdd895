// The operations on all executions of a store: to find them, to look at what became of each message, and to change their course. A host
// offers them to its program, and over its admin socket to the command `signalbox pipelines`.

import type { EvidenceView } from "../../host/index.js";
import type { MessageId } from "../definition/message-id.js";
import type { MissingPart } from "../definition/missing.js";
import type { LedgerCounts, Setback } from "../ledger/ledger.js";
import type { CallRecord, MessageChange } from "../ledger/lineage.js";
import type { ExecutionStatus } from "../ledger/tables.js";
import type { Fate } from "../messages/dead-machine.js";
import type { DeedOptions, DeedResult, DropOptions, LetterFilter } from "../messages/dead-options.js";
import type { DeadLetterRecord } from "../messages/dead-records.js";
import type { GivenUp, GiveUpOptions, Moved, MoveOptions } from "./change-options.js";
import type { ReplayOptions } from "./replay-options.js";
import type { RouteTotals } from "./retention.js";
import type { RouteGraph } from "./route-graph.js";

/** All statuses of executions, in the order in which people want to see them. */
export const EXECUTION_STATUSES: readonly ExecutionStatus[] = [
  "running",
  "paused",
  "completed",
  "failed",
  "cancelled",
];

/** An execution in a list. */
export interface ExecutionSummary extends PipelineSummary {
  /** The id of the execution whose messages it replays. */
  readonly replays?: string;
}

/** Which executions a list has. All that is given must hold. */
export interface ExecutionFilter {
  /** Executions of this status, or of one of these. */
  readonly status?: ExecutionStatus | readonly ExecutionStatus[];
  /** The name of the pipeline. */
  readonly pipeline?: string;
  /** Executions whose ids begin so. */
  readonly idPrefix?: string;
  /** Executions that were started at this time or later, in milliseconds since 1970. */
  readonly createdFrom?: number;
  /** Executions that were started before this time. */
  readonly createdBelow?: number;
}

/** A list, page by page. */
export interface ExecutionListOptions extends ExecutionFilter {
  /** The order of their starts. Default `newest`. */
  readonly order?: "newest" | "oldest";
  /** Most executions of a page, 1 to 1,000. Default 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

/** A page of a list. */
export interface ExecutionPage {
  /** The executions of this page, in the order asked for. */
  readonly executions: readonly ExecutionSummary[];
  /** Gives the next page as `cursor`. Absent: there are no more. A page may be short, or empty, and still have a next. */
  readonly next?: string;
}

/** A queue of an execution. */
export interface QueueDepth {
  /** The name of the queue. */
  readonly queue: string;
  /** The route that takes from it, as the frozen configuration names it. */
  readonly route?: string;
  /** Messages that may be tried now, those in work included. */
  readonly ready: number;
  /** Messages that wait for their next attempt. */
  readonly delayed: number;
  /** Dead letters. */
  readonly dead: number;
}

/** A source of an execution. */
export interface SourceState {
  /** The name of the source. */
  readonly name: string;
  /** How many messages it has given. */
  readonly given: number;
  /** Whether it may give more. */
  readonly open: boolean;
  /** Why people have given it up. Absent: they have not. */
  readonly dropped?: string;
}

/** An execution as `inspect` shows it. */
export interface ExecutionDetails extends ExecutionSummary {
  /** The configuration that was frozen at its start. */
  readonly configuration: unknown;
  /** Its input. */
  readonly input: unknown;
  /** Why it failed. */
  readonly error?: unknown;
  /** Its queues, by name. */
  readonly queues: readonly QueueDepth[];
  /** Its sources, by name. */
  readonly sources: readonly SourceState[];
  /** The last heartbeats of adapters at messages that are not settled, of a hundred messages at most. Absent: there are none. */
  readonly heartbeats?: readonly MessageHeartbeats[];
}

/** Options of `inspect`. */
export interface InspectOptions {
  /** Each count of messages ends there, so that a look costs the same however many there are. Default: no limit. */
  readonly atMost?: number;
}

/** How far the adapters are with a message. */
export interface MessageHeartbeats {
  /** The id of the message. */
  readonly message: MessageId;
  /** The queue in which it is. */
  readonly queue: string;
  /** The name of the adapter, the time, and its progress. Or the error, if these cannot be read. */
  readonly heartbeats: unknown;
}

/** The fate of a message, or its place. */
export interface MessageRecord {
  /** The id of the message: the path of its descent. */
  readonly id: MessageId;
  /**
   * `ready` and `delayed`: it is in its queue, or in work. `completed`: its route has settled it. `dead`: it is a dead letter. `dropped`:
   * people have ended it. `forgotten`: nothing is known of it any more, or it never was. `unknown`: it may be delayed, or `forgotten`; more than
   * 10,000 messages are delayed, and it is none of the first of these.
   */
  readonly status:
    | "ready"
    | "delayed"
    | "completed"
    | "dead"
    | "cancelled"
    | "dropped"
    | "forgotten"
    | "unknown";
  /** The fate of a message that was a dead letter, if it is dead no more. */
  readonly fate?: Fate;
  /** Its queue, where that is known. */
  readonly queue?: string;
  /** The route that has settled it. */
  readonly route?: string;
  /** Its key. */
  readonly key?: string;
  /** The number of the attempt that settled it; of a message that is not settled, how often it was tried. */
  readonly attempt: number;
  /** The calls of adapters in the attempt that settled it. */
  readonly calls: readonly CallRecord[];
  /** How many children it has in other queues. */
  readonly children: number;
  /** The id of the first message of the batch in which it was processed. */
  readonly batch?: MessageId;
  /** The errors of the attempts that failed, the oldest first. */
  readonly errors: readonly string[];
  /** A passing error of a store or a database is in the way of a live message: how often in a row, and the last of these errors. */
  readonly setback?: Setback;
  /** The changes that people made to it, the oldest first. Absent: none. */
  readonly changes?: readonly MessageChange[];
}

/** A message with those it comes from and those that come from it. */
export interface Lineage {
  /** The message. */
  readonly message: MessageRecord;
  /** Its ancestors. The first one came from a source, or was given at the start. */
  readonly chain: readonly MessageRecord[];
  /** The first of its children; `children` gives all. */
  readonly children: readonly MessageRecord[];
}

/** A message that was given up, with its whole history. */
export interface DeadMessage {
  /** The id of the message. */
  readonly id: MessageId;
  /** The queue that it was in. */
  readonly queue: string;
  /** The route that gave it up; absent if no route got it, because it could not be read. */
  readonly route?: string;
  /** The adapter whose call failed last; absent if no adapter failed: a condition threw, or a result could not be stored. */
  readonly adapter?: string;
  /** Its value, or the error for which it cannot be read. */
  readonly value: unknown;
  /** Its key. */
  readonly key?: string;
  /** The errors of its attempts, the oldest first. */
  readonly errors: readonly string[];
  /** When it was given up, in milliseconds since 1970. */
  readonly at: number;
}

/** Where a list of messages begins and ends. Lists are in the order of the ids. */
export interface MessageRange {
  /** Only messages behind this id. */
  readonly after?: MessageId;
  /** Most messages. Default: all. */
  readonly limit?: number;
}

/** Which messages of an execution are listed. */
export interface MessageFilter extends MessageRange {
  /** Only messages that this route has settled. */
  readonly route?: string;
}

/** Which dead letters are listed. They are in the order of queues and ids. */
export interface DeadFilter {
  /** Only those of this route. */
  readonly route?: string;
  /** Only those behind this one. */
  readonly behind?: {
    /** Its queue. */
    readonly queue: string;
    /** Its id. */
    readonly id: MessageId;
  };
  /** Most of them. Default: all. */
  readonly limit?: number;
}

/** Which dead letters of an execution are meant. All that is given must hold. */
export interface DeadChoice extends LetterFilter {
  /** Only those of this route. */
  readonly route?: string;
}

/** Which records of dead letters are listed. They are in the order of queues and ids. */
export interface DeadRecordFilter {
  /** Only those of this message. */
  readonly message?: MessageId;
  /** Only those behind this one. */
  readonly behind?: {
    /** Its queue. */
    readonly queue: string;
    /** Its id. */
    readonly id: MessageId;
    /** Its turn. */
    readonly turn: number;
  };
  /** Most of them. Default: all. */
  readonly limit?: number;
}

/** The record of a dead letter of an execution. */
export interface DeadMessageRecord extends DeadLetterRecord {
  /** The execution that has its copy, if it was replayed. */
  readonly into?: string;
}

/** How many executions there are of each status. */
export interface ExecutionCounts {
  readonly counts: Readonly<Record<ExecutionStatus, number>>;
  /** No status is counted further: so many of it may be more. */
  readonly atMost: number;
}

/** Which messages that wait are listed. */
export interface DelayedOptions {
  /** Only those of this queue. */
  readonly queue?: string;
  /** Most messages, 1 to 500. Default 100. */
  readonly limit?: number;
}

/** A message that waits for its next attempt. */
export interface DelayedMessage {
  /** The id of the message. */
  readonly id: MessageId;
  /** The queue in which it is. */
  readonly queue: string;
  /** The route that takes from it, as the frozen configuration names it. */
  readonly route?: string;
  /** Its key. */
  readonly key?: string;
  /** When it may be tried again, in milliseconds since 1970 by the clock of the store. */
  readonly until: number;
  /**
   * Why it waits. `attempt`: its last attempt has failed. `quarantine`: it has ended a process, by evidence, and stands aside. `setback`: a
   * passing error of a store was in the way.
   */
  readonly why: "attempt" | "quarantine" | "setback";
  /** How many attempts were made. */
  readonly attempts: number;
  /** How often it has ended its process, by evidence. */
  readonly ends: number;
  /** The errors of its attempts, the oldest first. An end of a process names its evidence. */
  readonly errors: readonly string[];
  /** Passing errors of a store that it met in a row. */
  readonly setback?: Setback;
}

/** A wait with an end. */
export interface OutcomeOptions {
  /** How many milliseconds to wait at most. Default: no limit. */
  readonly timeoutMs?: number;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/** A replay that has begun. */
export interface ReplayStarted {
  /** The id of the new execution. */
  readonly id: string;
  /** How many messages it replays. */
  readonly messages: number;
}

/** The operations. All of them reject with ExecutionNotFoundError for an id that no execution has. */
export interface PipelineOperations {
  /** Executions, page by page. @throws OptionError */
  list(options?: ExecutionListOptions): Promise<ExecutionPage>;
  /** All executions that a filter lets pass, read page by page. @throws OptionError */
  executions(options?: ExecutionListOptions): AsyncIterable<ExecutionSummary>;
  /** The status and the counts of an execution: one row is read. */
  status(id: string): Promise<ExecutionSummary>;
  /** An execution with its configuration, queues and sources. @throws OptionError */
  inspect(id: string, options?: InspectOptions): Promise<ExecutionDetails>;
  /**
   * The routes of an execution as a graph: how many messages wait, how fast it goes, and what stops it. From the configuration that was frozen at
   * its start, so also where no host runs it; rates, latencies, gates and breakers are those of the host that is asked, if it runs it.
   */
  routes(id: string): Promise<RouteGraph>;
  /**
   * What the evidence of its hosts says about messages, which have names such as `message:orders-7/1.4`: the id of the execution, and that of the
   * message. Of the host that is asked; without a host, of those that have written beside the file of the store.
   */
  evidence(): Promise<readonly EvidenceView[]>;
  /** How many executions there are of each status: no further than a page needs. */
  counts(): Promise<ExecutionCounts>;
  /** Messages that wait for their next attempt, and why: those of one queue after another, the next to be tried first. @throws OptionError */
  delayed(id: string, options?: DelayedOptions): Promise<readonly DelayedMessage[]>;
  /** A message, the chain of its ancestors, and its first 100 children. @throws OptionError when the id is no id of a message */
  lineage(id: string, message: MessageId): Promise<Lineage>;
  /** The children of a message: those that its route made of it. */
  children(id: string, message: MessageId, range?: MessageRange): AsyncIterable<MessageRecord>;
  /** The messages of the batch in which a message was processed, itself included. Reads all settled messages of the execution. */
  batch(id: string, message: MessageId, range?: MessageRange): AsyncIterable<MessageRecord>;
  /** The messages that were settled. */
  messages(id: string, filter?: MessageFilter): AsyncIterable<MessageRecord>;
  /** The messages of which an attempt has failed: dead letters, and those that succeeded later. */
  failures(id: string, filter?: MessageFilter): AsyncIterable<MessageRecord>;
  /** The dead letters. */
  deadLetters(id: string, filter?: DeadFilter): AsyncIterable<DeadMessage>;
  /** The records of dead letters that are dead no more: who replayed, retried, edited or dropped them, when and why. */
  deadRecords(id: string, filter?: DeadRecordFilter): AsyncIterable<DeadMessageRecord>;
  /**
   * Puts dead letters back where they died: they keep their ids and errors, and have all of their attempts. An execution that had
   * completed goes on, and completes again.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError when one of the ids is of no dead letter; ExecutionOverError, OptionError
   */
  retryDead(
    id: string,
    which: MessageId | readonly MessageId[] | DeadChoice,
    options?: DeedOptions,
  ): Promise<DeedResult>;
  /**
   * Puts a dead letter back with another value. The record keeps the value that it had.
   *
   * @throws DeadLetterNotFoundError, ExecutionOverError, UnstorableValueError, MessageTooLargeError, OptionError
   */
  editDead(id: string, message: MessageId, value: unknown, options?: DeedOptions): Promise<void>;
  /**
   * Gives dead letters up for good. The execution counts them as `dropped`.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError, OptionError (also without a reason)
   */
  dropDead(
    id: string,
    which: MessageId | readonly MessageId[] | DeadChoice,
    options: DropOptions,
  ): Promise<DeedResult>;
  /** Waits for the end of an execution, however it ends. @throws ExecutionWaitTimeoutError */
  outcome(id: string, options?: OutcomeOptions): Promise<ExecutionSummary>;
  /** Gives no more work to workers, until `resume`. False: the execution has ended. */
  pause(id: string): Promise<boolean>;
  /** Lets a paused execution go on. False: it has ended. */
  resume(id: string): Promise<boolean>;
  /** Ends an execution: messages in work are aborted, and settle nothing. False: it has ended already. */
  cancel(id: string): Promise<boolean>;
  /**
   * Gives up messages in queues and open sources of an execution, of a part or of all that is left. A message that is given up is done and
   * counts as dropped: nothing comes of it, its value is kept, and a host that works on it settles nothing. If the execution has ended,
   * nothing is given up.
   *
   * @throws PipelineChangeError when one of `messages` is in no queue or one of `sources` is not open; ExecutionOutcomeUnknownError after
   * `timeoutMs`, OptionError
   */
  giveUp(id: string, options: GiveUpOptions): Promise<GivenUp>;
  /**
   * Moves messages to the queue of another route of the pipeline, as it is now: by default all that no route of it takes. They keep their ids,
   * values and errors, and have all of their attempts again. If the execution has ended, nothing is moved.
   *
   * @throws PipelineChangeError when there is no such route, or one of `messages` is in no queue; MessageTooLargeError, UnknownPipelineError,
   * ExecutionOutcomeUnknownError after `timeoutMs`, OptionError
   */
  move(id: string, options: MoveOptions): Promise<Moved>;
  /**
   * Does messages of an execution again, in a new execution that names it. Dead letters go over to it: the next replay does not find them,
   * unless it says `again`. Nothing else changes for the one that is replayed. The new one has the configuration that the pipeline has now.
   *
   * @throws ReplayError when values are gone, there is nothing to replay, or the id is taken; UnknownPipelineError,
   * ExecutionOutcomeUnknownError after `timeoutMs` with the id of the new execution, OptionError
   */
  replay(id: string, options: ReplayOptions): Promise<ReplayStarted>;
}

/** An execution: its status, and its counts. */
export interface PipelineSummary extends LedgerCounts {
  /** The id of the execution. */
  readonly id: string;
  /** The name of its pipeline. */
  readonly pipeline: string;
  /** The version of the pipeline with which it began. Absent: 1. */
  readonly version?: number;
  /** Whether it runs, or how it ended. */
  readonly status: ExecutionStatus;
  /** When it was started, in milliseconds since 1970. */
  readonly created: number;
  /** When it ended, in milliseconds since 1970. */
  readonly ended: number | undefined;
  /** Messages that were dead letters, and that a replay has. Absent: none. */
  readonly replayed?: number;
  /** Messages that people have ended, dead letters or not; they count among those that are done. Absent: none. */
  readonly dropped?: number;
  /** Parts that it needs and its pipeline does not have: it cannot end with this definition. Absent: none, as far as a host has looked. */
  readonly stranded?: readonly MissingPart[];
  /** The totals of its routes, once its history was summed up and removed. See `retention` of a host. */
  readonly totals?: readonly RouteTotals[];
}

/** All executions of a list, page by page. */
export async function* allPages(
  on: Pick<PipelineOperations, "list">,
  options: ExecutionListOptions = {},
): AsyncGenerator<ExecutionSummary, void, undefined> {
  for (let { cursor } = options; ; ) {
    const page = await on.list(cursor === undefined ? options : { ...options, cursor });
    yield* page.executions;
    cursor = page.next;
    if (cursor === undefined) return;
  }
}
