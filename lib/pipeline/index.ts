/**
 * signalbox/pipeline: jobs of many stages over many messages, which know exactly when they are done.
 *
 *     definition/  queues, routes, adapters, sources, policies; a pipeline's faults, and its picture in Mermaid and DOT
 *     sources/     files, times, pages of HTTP and iterables as sources
 *     adapters/    adapters that ship
 *     yaml/        pipelines as YAML, and the registry of their types
 *     messages/    what pipelines and queues do alike: retries, quarantine, dead letters and their records, outbox, channels of brokers
 *     ledger/      messages of executions: live, settled, and when an execution is complete; in a store or in memory
 *     queues/      durable queues without a pipeline
 *     operations/  all executions of a store: list, inspect, lineage, dead letters, replay, give up, move, retention
 *     runtime/     the processes of an execution: a processor for each route, its gates and workers, a reader for each source
 *     host.ts      the host of executions, and the handle of a run
 *
 * @example
 * const lines = queue<string>("lines");
 * const words = queue<string>("words");
 * const split = route("split", { from: lines }).via("words", (line) => many(line.split(" "))).to(words);
 * const shout = route("shout", { from: words }).via("print", (word) => console.log(word.toUpperCase()));
 * const pipeline = definePipeline("shouting", { routes: [split, shout] });
 * const host = await system.start(pipelineHost({ store: sqlite("jobs.db"), pipelines: [pipeline] }));
 * const run = await host.start(pipeline, { id: "monday", messages: { to: lines, values: ["a b", "c"] } });
 * console.log((await run.completed()).done);
 */

export type { EvidenceView } from "../host/index.js";
export { HostGoneError, type HostSignals } from "../host/index.js";
export { giveUpDamaged } from "./adapters/damaged.js";
export { type DeduplicateOptions, deduplicate } from "./adapters/deduplicate.js";
export { ADAPTER_DEFAULTS } from "./adapters/defaults.js";
export { type DispatchToOptions, dispatchTo } from "./adapters/dispatch.js";
export { FileTornError, TupleFailedError, UnwritableError } from "./adapters/errors.js";
export {
  type CsvWriterOptions,
  type WriterOptions,
  writeCsv,
  writeJsonLines,
} from "./adapters/file-writer.js";
export { type StartFlowOptions, startFlow, type WaitOption } from "./adapters/flow.js";
export { type HttpRequestOptions, httpRequest } from "./adapters/http-request.js";
export {
  type PostgresClient,
  postgresTarget,
  type SqliteDatabase,
  type SqliteStatement,
  type SqlStore,
  type SqlTarget,
  sqliteTarget,
} from "./adapters/sql-port.js";
export { type SqlUpsertOptions, sqlUpsert } from "./adapters/sql-upsert.js";
export { type ThrottleOptions, throttle } from "./adapters/throttle.js";
export { type TopologyInlet, topologyInlet } from "./adapters/topology.js";
export { type AggregateOptions, aggregate, filter, map, split } from "./adapters/values.js";
export {
  type Adapted,
  type Adapter,
  type AdapterContext,
  type BatchAdapter,
  type BatchContext,
  type BatchLimits,
  type Item,
  type Many,
  many,
  type Stage,
} from "./definition/adapter.js";
export { type Condition, type FieldCondition, OPERATORS, type Operator } from "./definition/condition.js";
export {
  AdapterTimeoutError,
  DeadLetterError,
  HopLimitError,
  PipelineFaultsError,
} from "./definition/errors.js";
export type { Fault } from "./definition/fault.js";
export type { MessageId } from "./definition/message-id.js";
export type { MissingPart } from "./definition/missing.js";
export {
  type AnyPipeline,
  definePipeline,
  feed,
  type PipelineDefinition,
  type PipelineOptions,
} from "./definition/pipeline.js";
export {
  type AdaptivePolicy,
  type BreakerPolicy,
  PIPELINE_DEFAULTS,
  type PipelinePolicy,
  type QuarantinePolicy,
  type RetryPolicy,
  type RoutePolicy,
} from "./definition/policy.js";
export { type Queue, queue } from "./definition/queue.js";
export { type AnyRoute, type Outbound, type Route, type RouteOptions, route } from "./definition/route.js";
export type { RoutesGraphOptions } from "./definition/routes-graph.js";
export { pipelineToDot, pipelineToMermaid } from "./definition/routes-graph.js";
export type { Feed, Source, SourceContext, Sourced } from "./definition/source.js";
export {
  type GivenMessages,
  PipelineHost,
  type PipelineHostDefinition,
  PipelineRun,
  pipelineHost,
  type RunOptions,
  runPipeline,
  type StartExecutionOptions,
} from "./host.js";
export { ExecutionGoneError, MessageTooLargeError, StepTooLargeError } from "./ledger/errors.js";
export type { LedgerCounts, Setback } from "./ledger/ledger.js";
export type { CallRecord, MessageChange } from "./ledger/lineage.js";
export type { ExecutionStatus } from "./ledger/tables.js";
export type {
  Carrier,
  CarrierContext,
  CarrierDelivery,
  CarrierSource,
  Consumption,
  Letter,
} from "./messages/carrier.js";
export type { Fate } from "./messages/dead-machine.js";
export type { DeedOptions, DeedResult, DropOptions, LetterFilter } from "./messages/dead-options.js";
export type { DeadLetterRecord } from "./messages/dead-records.js";
export {
  CarrierError,
  ChannelGoneError,
  DeadLetterNotFoundError,
  LetterTooLargeError,
  QueueClosedError,
  QueueFullError,
  QueueStatusError,
  QueueTimeoutError,
} from "./messages/errors.js";
export { type JetStreamOptions, jetstream } from "./messages/jetstream.js";
export {
  type OpenPipelineOperations,
  openPipelineOperations,
  type PipelineOperationsOptions,
} from "./open-operations.js";
export type {
  ChangeOptions,
  GivenUp,
  GiveUpOptions,
  Moved,
  MoveOptions,
} from "./operations/change-options.js";
export {
  ExecutionFailedError,
  ExecutionIdTakenError,
  ExecutionLostError,
  ExecutionNotFoundError,
  ExecutionOutcomeUnknownError,
  ExecutionOverError,
  ExecutionWaitTimeoutError,
  NoLineageError,
  PipelineChangeError,
  PipelineHostTakenError,
  PipelineInputError,
  ReplayError,
  UnknownPipelineError,
} from "./operations/errors.js";
export type { RouteBreaker, RouteGate } from "./operations/figures.js";
export type {
  DeadChoice,
  DeadFilter,
  DeadMessage,
  DeadMessageRecord,
  DeadRecordFilter,
  DelayedMessage,
  DelayedOptions,
  ExecutionCounts,
  ExecutionDetails,
  ExecutionFilter,
  ExecutionListOptions,
  ExecutionPage,
  ExecutionSummary,
  InspectOptions,
  Lineage,
  MessageFilter,
  MessageHeartbeats,
  MessageRange,
  MessageRecord,
  OutcomeOptions,
  PipelineOperations,
  PipelineSummary,
  QueueDepth,
  ReplayStarted,
  SourceState,
} from "./operations/operations.js";
export type { ReplayOptions } from "./operations/replay-options.js";
export type { PipelineRetentionOptions, RouteTotals } from "./operations/retention.js";
export type { RouteEdge, RouteGraph, RouteNode } from "./operations/route-graph.js";
export type { OperationWaitOptions } from "./operations/waits.js";
export { type DeadLetter, DeadLetters, type QueueReplayOptions } from "./queues/dead-letters.js";
export {
  QUEUE_DEFAULTS,
  QUEUE_LIMITS,
  type QueuePolicy,
  type QueuePolicyOptions,
  type SubscriberPolicy,
} from "./queues/limits.js";
export type { LiveQueueMessage, LiveQueueOptions, LiveQueueState } from "./queues/live-messages.js";
export type { QueueHeartbeat } from "./queues/message-beats.js";
export type {
  QueueLetterFilter,
  QueueListFilter,
  QueueOperations,
  QueueRecordFilter,
  QueueSummary,
} from "./queues/operations.js";
export type { QueueCounts } from "./queues/queue-counts.js";
export {
  MessageQueue,
  type NewQueueMessage,
  openQueues,
  type Published,
  type PublishOptions,
  type QueueHandler,
  type QueueMessage,
  Queues,
  type QueuesOptions,
  Subscription,
} from "./queues/queues.js";
export { dead, done, type RetryOptions, retry, type Status } from "./queues/status.js";
export type { ConcurrencyChange } from "./runtime/adaptive.js";
export type { PipelineHostOptions } from "./runtime/options.js";
export type { PipelineProgress, RouteProgress } from "./runtime/progress.js";
export type { StrandedExecution } from "./runtime/stranded.js";
export { type CsvOptions, type CsvRow, csvRows } from "./sources/csv.js";
export {
  DamagedRecordError,
  FileChangedError,
  HttpBodyError,
  HttpFailedError,
  HttpStatusError,
} from "./sources/errors.js";
export { type DamagedRecord, type FileOptions, isDamaged } from "./sources/file-options.js";
export { HTTP_DEFAULTS, type HttpPolicy } from "./sources/http-client.js";
export type { Fetch, HttpReply } from "./sources/http-exchange.js";
export {
  type HttpPagesOptions,
  httpPages,
  type Page,
  type PagePlace,
  type PageRequest,
} from "./sources/http-pages.js";
export { jsonLines } from "./sources/json-lines.js";
export type { FilePlace } from "./sources/record-splitter.js";
export { type Moment, type Tick, type TimerOptions, timer } from "./sources/timer.js";
export { fromIterable, fromValues, type IterableOptions, type ValuesOptions } from "./sources/values.js";
export { type FileFault, PipelineFileError } from "./yaml/errors.js";
export { type JsonSchema, jsonSchemaOf } from "./yaml/json-schema.js";
export { type ParseOptions, parsePipeline } from "./yaml/parse.js";
export {
  type AdapterType,
  type AdapterTypeOptions,
  adapterType,
  type MadeFor,
  type MadeType,
  type PipelineRegistry,
  pipelineRegistry,
  type SourceType,
  type SourceTypeOptions,
  sourceType,
  type TypeOptions,
} from "./yaml/registry.js";
export { shippedAdapters, shippedSources } from "./yaml/shipped-types.js";
export type { Variables } from "./yaml/substitution.js";
