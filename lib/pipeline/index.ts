/**
 * signalbox/pipeline: jobs of many stages over many messages, which know exactly when they are done.
 *
 *     definition/  queues, routes, adapters, sources, policies; what is wrong with a graph
 *     ledger/      what is live, what is settled, and when an execution is complete: in a store or in memory
 *     gates/       who may work
 *     batches/     what is gathered, and when it is due
 *     runtime/     the processes of an execution: a processor for each route, its workers, a reader for each source
 *     host.ts      the host of executions, and the handle of a run
 *     queues/      durable queues without a pipeline
 *     dead/        what may become of a dead letter, of pipelines as of queues
 *     sources/     files, times and iterables as sources
 *     adapters/    adapters that ship
 *     operations/  all executions of a store: list, inspect, lineage, dead letters
 *     replay/      messages of an execution once more, in a new one
 *     retention/   how long the history of executions is kept, and what remains of it
 *     yaml/        pipelines as YAML, and the registry of their types
 *     views/       a pipeline as Mermaid and DOT
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

export { HostGoneError } from "../host/index.js";
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
export { PipelineChangeError } from "./changes/errors.js";
export type { ChangeOptions, GivenUp, GiveUpOptions, Moved, MoveOptions } from "./changes/options.js";
export type { OperationWaitOptions } from "./changes/waits.js";
export type { Fate } from "./dead/dead-machine.js";
export { DeadLetterNotFoundError } from "./dead/errors.js";
export type { DeedOptions, DeedResult, DropOptions, LetterFilter } from "./dead/options.js";
export type { DeadLetterRecord } from "./dead/records.js";
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
export type { Feed, Source, SourceContext, Sourced } from "./definition/source.js";
export type { ConcurrencyChange } from "./gates/events.js";
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
export { HTTP_DEFAULTS, type HttpPolicy } from "./http/client.js";
export { HttpBodyError, HttpFailedError, HttpStatusError } from "./http/errors.js";
export type { Fetch, HttpReply } from "./http/exchange.js";
export { ExecutionGoneError, MessageTooLargeError, StepTooLargeError } from "./ledger/errors.js";
export type { LedgerCounts, Setback } from "./ledger/ledger.js";
export type { CallRecord, MessageChange } from "./ledger/lineage.js";
export type { ExecutionStatus } from "./ledger/tables.js";
export { ExecutionOverError, ExecutionWaitTimeoutError } from "./operations/errors.js";
export {
  type OpenPipelineOperations,
  openPipelineOperations,
  type PipelineOperationsOptions,
} from "./operations/open-operations.js";
export type {
  DeadChoice,
  DeadFilter,
  DeadMessage,
  DeadMessageRecord,
  DeadRecordFilter,
  ExecutionDetails,
  ExecutionFilter,
  ExecutionListOptions,
  ExecutionPage,
  ExecutionSummary,
  Lineage,
  MessageFilter,
  MessageHeartbeats,
  MessageRange,
  MessageRecord,
  OutcomeOptions,
  PipelineOperations,
  QueueDepth,
  ReplayStarted,
  SourceState,
} from "./operations/operations.js";
export type {
  Carrier,
  CarrierContext,
  CarrierDelivery,
  CarrierSource,
  Consumption,
  Letter,
} from "./queues/carrier.js";
export { type DeadLetter, DeadLetters, type QueueReplayOptions } from "./queues/dead-letters.js";
export {
  CarrierError,
  ChannelGoneError,
  LetterTooLargeError,
  QueueClosedError,
  QueueFullError,
  QueueStatusError,
  QueueTimeoutError,
} from "./queues/errors.js";
export { type JetStreamOptions, jetstream } from "./queues/jetstream.js";
export {
  QUEUE_DEFAULTS,
  QUEUE_LIMITS,
  type QueuePolicy,
  type QueuePolicyOptions,
  type SubscriberPolicy,
} from "./queues/limits.js";
export type { QueueHeartbeat } from "./queues/message-beats.js";
export {
  MessageQueue,
  type NewQueueMessage,
  openQueues,
  type Published,
  type PublishOptions,
  type QueueCounts,
  type QueueHandler,
  type QueueMessage,
  Queues,
  type QueuesOptions,
  Subscription,
} from "./queues/queues.js";
export { dead, done, type RetryOptions, retry, type Status } from "./queues/status.js";
export { ReplayError } from "./replay/errors.js";
export type { ReplayOptions } from "./replay/options.js";
export type { PipelineRetentionOptions } from "./retention/options.js";
export type { RouteTotals } from "./retention/totals.js";
export {
  ExecutionFailedError,
  ExecutionIdTakenError,
  ExecutionLostError,
  ExecutionNotFoundError,
  ExecutionOutcomeUnknownError,
  NoLineageError,
  PipelineHostTakenError,
  PipelineInputError,
  UnknownPipelineError,
} from "./runtime/errors.js";
export type { PipelineHostOptions } from "./runtime/options.js";
export type { PipelineProgress, RouteProgress } from "./runtime/progress.js";
export type { StrandedExecution } from "./runtime/stranded.js";
export type { PipelineSummary } from "./runtime/summary.js";
export { shippedAdapters, shippedSources } from "./shipped/types.js";
export { type CsvOptions, type CsvRow, csvRows } from "./sources/csv.js";
export { DamagedRecordError, FileChangedError } from "./sources/errors.js";
export { type DamagedRecord, type FileOptions, isDamaged } from "./sources/file-options.js";
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
export type { RoutesGraphOptions } from "./views/routes-graph.js";
export { pipelineToDot, pipelineToMermaid } from "./views/write.js";
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
export type { Variables } from "./yaml/substitution.js";
