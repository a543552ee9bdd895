// What the examples in TSDoc comments take for granted: they are compiled behind this.

import { createReadStream } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { PGlite } from "@electric-sql/pglite";
import * as fc from "fast-check";
import { Pool } from "pg";
import {
  available,
  type BodyContext,
  type Call,
  type Caller,
  ConsumerGroup,
  consoleReport,
  consumer,
  custom,
  type Delivery,
  type DynamicSupervisorRef,
  defer,
  defineServer,
  defineStateMachine,
  dispatch,
  dynamicSupervisor,
  type EventsOf,
  fairMailbox,
  inspect,
  isolated,
  leastLoaded,
  loggerReport,
  type Moves,
  match,
  noReply,
  outside,
  ownerOf,
  type PartitionSupervisorRef,
  type Pid,
  partitionSupervisor,
  Registry,
  type ReplyTo,
  type ReportLogger,
  type RoutingFunction,
  ready,
  refuse,
  reject,
  remoteNodes,
  rendezvous,
  reply,
  replyAndStop,
  roundRobin,
  type ServerDefinition,
  type ServerRef,
  type Startable,
  Stash,
  type StateMachineRef,
  System,
  shutdown,
  startIn,
  sticky,
  stop,
  supervisor,
  type TaskSupervisorRef,
  task,
  taskStream,
  taskSupervisor,
  to,
  weighted,
  where,
} from "signalbox";
import {
  defineFlow,
  type FlowHost,
  flowHost,
  type HospitalOptions,
  jsonCodec,
  openFlowOperations,
  type StaffMember,
  schedule,
  wrapCodec,
} from "signalbox/flow";
import {
  byKey,
  byLabel,
  type ClusterNode,
  type FrameCarrier,
  job,
  joinCluster,
  type KeyEntry,
  type Keyed,
  keyed,
  keyedSchema,
  kvLeases,
  type Lease,
  localNetwork,
  nats,
  programs,
  Sessions,
  singleton,
  storeLeases,
  type Threads,
  threadProgram,
  threads,
} from "signalbox/nodes";
import { history, observer, observerHandler } from "signalbox/observer";
import { instrument } from "signalbox/otel";
import {
  adapterType,
  aggregate,
  type CsvRow,
  csvRows,
  type DamagedRecord,
  dead,
  deduplicate,
  definePipeline,
  dispatchTo,
  done,
  feed,
  filter,
  fromIterable,
  fromValues,
  giveUpDamaged,
  httpPages,
  httpRequest,
  jetstream,
  jsonLines,
  jsonSchemaOf,
  type MessageQueue,
  many,
  map,
  openPipelineOperations,
  openQueues,
  parsePipeline,
  pipelineHost,
  pipelineRegistry,
  pipelineToDot,
  pipelineToMermaid,
  postgresTarget,
  queue,
  retry,
  route,
  runPipeline,
  shippedAdapters,
  shippedSources,
  sourceType,
  split,
  sqliteTarget,
  sqlUpsert,
  startFlow,
  type Tick,
  throttle,
  timer,
  topologyInlet,
  writeCsv,
  writeJsonLines,
} from "signalbox/pipeline";
import {
  bulkhead,
  CircuitOpenError,
  circuitBreaker,
  fallback,
  httpServer,
  httpStatus,
  type PoolJob,
  type PoolRef,
  type PrometheusMetrics,
  pool,
  prometheus,
  rateLimiter,
  retryPolicy,
  run,
  telemetry,
  telemetryChannel,
} from "signalbox/service";
import {
  defineTable,
  memory,
  openStore,
  pglite,
  postgres,
  type Store,
  sqlite,
  transact,
} from "signalbox/store";
import { fluxDefinition, fluxText, shellPrograms, stormFindings } from "signalbox/storm";
import {
  arbitrarySchedules,
  assertLinearizable,
  checkLinearizable,
  delayBounded,
  exhaustive,
  explore,
  flowKit,
  OperationHistory,
  pct,
  portfolio,
  pos,
  probe,
  randomWalk,
  renderTrace,
  renderViewer,
  SimulatedDisk,
  type Simulation,
  simulate,
  testClock,
  traceToMermaid,
  usualStrategies,
} from "signalbox/testing";
import type { Blueprint, Topology } from "signalbox/topology";
import {
  batchBolt,
  bolt,
  boltProgram,
  field,
  grouping,
  liveDashboard,
  renderDashboard,
  renderSummary,
  repaintDashboard,
  runComponent,
  shellBolt,
  shellSpout,
  sliding,
  spout,
  spoutFrom,
  type TopologyRef,
  toDot,
  toMermaid,
  topology,
  tumbling,
  windowBolt,
} from "signalbox/topology";
import { contextOf, fromPid, fromXState, type XStateRef } from "signalbox/xstate";
import { type AnyActorRef, createMachine, sendTo, setup } from "xstate";
import { brief } from "../../lib/testing/report/brief.js";
import { decodeToken, encodeToken, scenarioHash } from "../../lib/testing/report/token.js";
import { Latency } from "../../lib/topology/runtime/latency.js";
import { componentMetrics, TaskMeter } from "../../lib/topology/runtime/metrics.js";

interface Order {
  readonly item: string;
  readonly n: number;
}
interface Job {
  readonly name: string;
}
interface Desk {
  left: number;
  readonly waiting: Caller<Job>[];
}
declare const ctx: BodyContext<unknown>;
declare const till: Pid<{ readonly type: "left"; readonly replyTo: ReplyTo<number> }>;
declare const stock: ServerRef<{ take: (state: Desk, n: number) => number }, Record<never, never>>;
declare const shelf: { take(item: string): number };
declare const order: Order;
declare const pick: (order: Order) => void;
declare const log: (what: unknown) => void;
declare const signal: AbortSignal;
declare const node: ClusterNode;
declare const pino: () => ReportLogger;
declare const pickers: ConsumerGroup<Order>;
declare const system: System;
declare const card: string;
declare const charge: (card: string, signal: AbortSignal) => Promise<string>;
declare const m: Moves<{ name: "paying" }, EventsOf<{ charged(payload: { receipt: string }): void }>>;
declare const payment: StateMachineRef<
  Call<{ type: "pay"; card: string }, "accepted" | "declined"> | { type: "cancel" }
>;
declare const Stock: Startable<readonly [number], typeof stock>;
declare function serve(sim: Simulation, orders: readonly number[]): Promise<void>;
declare const running: TopologyRef;
declare const wordCount: Topology;
declare const Shop: Startable<readonly [], unknown>;
declare const Session: Startable<readonly [string], unknown>;
declare const sessions: Registry<string, { since: number }, string>;
declare const hits: Registry<string, number>;
declare const topics: Registry<string, undefined, Order>;
declare const tasks: TaskSupervisorRef;
declare const devices: DynamicSupervisorRef<readonly [id: string], { readonly pid: Pid }>;
declare const counters: PartitionSupervisorRef<typeof Stock>;
declare function openPool(): Promise<void>;
declare function shutDown(error: unknown): void;

export const used: readonly unknown[] = [
  ConsumerGroup,
  consumer,
  defer,
  defineServer,
  dispatch,
  dynamicSupervisor,
  fairMailbox,
  inspect,
  leastLoaded,
];
export const alsoUsed: readonly unknown[] = [
  ready,
  refuse,
  reject,
  remoteNodes,
  System,
  supervisor,
  noReply,
  defineStateMachine,
  startIn,
  to,
  outside,
  ownerOf,
  openPool,
  Stash,
  shutDown,
  () => [ctx, till, stock, shelf, order, pick, log, card, charge, m, payment],
];
export const testing: readonly unknown[] = [
  assertLinearizable,
  checkLinearizable,
  delayBounded,
  exhaustive,
  explore,
  flowKit,
  OperationHistory,
  traceToMermaid,
  pct,
  portfolio,
  pos,
  probe,
  randomWalk,
  renderTrace,
  renderViewer,
  SimulatedDisk,
  arbitrarySchedules,
  simulate,
  testClock,
  usualStrategies,
  fc,
  brief,
  decodeToken,
  encodeToken,
  scenarioHash,
  () => serve,
  reply,
  replyAndStop,
  stop,
  custom,
  shutdown,
];
export const rest: () => readonly unknown[] = () => [
  signal,
  pickers,
  pino,
  consoleReport,
  loggerReport,
  system,
  Stock,
  Session,
  {} as Desk,
  {} as Delivery | RoutingFunction,
  available,
  isolated,
  match,
  rendezvous,
  roundRobin,
  sticky,
  weighted,
  where,
  () => [sessions, hits, topics, counters, devices, tasks],
  task,
  taskStream,
  taskSupervisor,
  partitionSupervisor,
  Registry,
];
export const topologies: readonly unknown[] = [
  batchBolt,
  bolt,
  createInterface,
  createReadStream,
  field,
  grouping,
  runComponent,
  boltProgram,
  shellBolt,
  shellSpout,
  sliding,
  spout,
  spoutFrom,
  renderSummary,
  topology,
  tumbling,
  windowBolt,
  () => [running, wordCount, {} as Blueprint],
  liveDashboard,
  repaintDashboard,
  renderDashboard,
  toDot,
  toMermaid,
  ...[fluxDefinition, fluxText, shellPrograms, stormFindings],
  Latency,
  componentMetrics,
  TaskMeter,
];
declare const printing: PoolRef<{ render(order: Order): string }>;
declare const metrics: PrometheusMetrics;
export const services: readonly unknown[] = [
  telemetry,
  telemetryChannel,
  prometheus,
  instrument,
  () => [metrics, createServer],
  bulkhead,
  CircuitOpenError,
  circuitBreaker,
  fallback,
  httpServer,
  httpStatus,
  pool,
  rateLimiter,
  retryPolicy,
  run,
  () => [Shop, printing, {} as PoolJob],
];
declare const store: Store;
declare const hospital: { readonly options: HospitalOptions; readonly staff: readonly StaffMember[] };
export const flows: () => readonly unknown[] = () => [hospital];
export const stores: readonly unknown[] = [
  pglite,
  postgres,
  PGlite,
  defineTable,
  memory,
  openStore,
  sqlite,
  transact,
  () => [store],
];
export const codecs: readonly unknown[] = [jsonCodec, wrapCodec];
export const schedules: readonly unknown[] = [schedule];
const greet = defineFlow("greet", async (flow, name: string) => flow.step("write", () => `hello ${name}`));
declare const host: FlowHost;
export const durable: () => readonly unknown[] = () => [
  defineFlow,
  flowHost,
  greet,
  host,
  openFlowOperations,
];
const doorMachine = createMachine({ initial: "open", states: { open: {} } });
declare const door: XStateRef<typeof doorMachine>;
export const machines: () => readonly unknown[] = () => [
  door,
  contextOf,
  fromPid,
  fromXState,
  createMachine,
  sendTo,
  setup,
  {} as AnyActorRef,
];
declare const orders: MessageQueue<Order>;
/** As `node:sqlite` has it, which the types of the oldest Node.js lack. */
declare class DatabaseSync {
  constructor(path: string);
  exec(sql: string): void;
  prepare(sql: string): {
    all(...values: (null | number | bigint | string | Uint8Array)[]): Record<string, unknown>[];
    run(...values: (null | number | bigint | string | Uint8Array)[]): { changes: number | bigint };
  };
}
export const pipelines: () => readonly unknown[] = () => [
  orders,
  definePipeline,
  feed,
  many,
  pipelineHost,
  queue,
  route,
  runPipeline,
  {} as CsvRow | DamagedRecord | Tick,
];
export const adapters: readonly unknown[] = [
  aggregate,
  deduplicate,
  dispatchTo,
  filter,
  giveUpDamaged,
  httpRequest,
  map,
  split,
  startFlow,
  throttle,
  topologyInlet,
  writeCsv,
  writeJsonLines,
  sqlUpsert,
  sqliteTarget,
  postgresTarget,
  () => [DatabaseSync, Pool],
];
export const sources: readonly unknown[] = [csvRows, fromIterable, fromValues, httpPages, jsonLines, timer];
declare const workers: Threads;
declare const Picker: ServerDefinition<[number], { pick(state: Desk): number }, Record<never, never>>;
declare const carrier: FrameCarrier;
declare const shelves: Keyed<typeof Picker>;
export const nodes: readonly unknown[] = [
  ...[
    byKey,
    byLabel,
    job,
    joinCluster,
    keyed,
    keyedSchema,
    kvLeases,
    localNetwork,
    nats,
    programs,
    Sessions,
    singleton,
    storeLeases,
  ],
  (lease: Lease, entry: KeyEntry<number>) => [lease.token, entry.key],
  threadProgram,
  threads,
];
export const queues: readonly unknown[] = [dead, done, jetstream, openPipelineOperations, openQueues, retry];
export const files: readonly unknown[] = [
  adapterType,
  jsonSchemaOf,
  parsePipeline,
  pipelineRegistry,
  pipelineToDot,
  pipelineToMermaid,
  shippedAdapters,
  shippedSources,
  sourceType,
];
export const pagesToLookAt: readonly unknown[] = [history, observer, observerHandler];
