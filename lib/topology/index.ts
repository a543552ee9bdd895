/**
 * signalbox/topology: streams of tuples through spouts and bolts, each task of which is a supervised process, and
 * every tuple of a reliable spout is followed until all that came of it is done.
 *
 *     index, builder, topology, ref   what a user begins with: declare a topology, start it, look at it and stop it
 *     definition/   what a user declares: fields, spouts, bolts, groupings, options; `check.ts` finds what types cannot see
 *     tracking/     reliable tuples as pure machines: trees (acker), retries, admission, tuples that windows have lost
 *     runtime/      what running tasks share: their places, the way of a tuple from one to the next, expiry, metrics
 *     tasks/        the processes: ackers, bolts, spouts and the system task
 *     lifecycle/    the supervisors over the tasks, and the process that starts, pauses, scales, drains and stops them
 *     components/   ready-made bolts and spouts: iterables, batches, windows
 *     views/        a topology as a graph, a table, a live screen
 *     multilang/    components in other languages, and ours under Storm
 *     storm/        a topology for a cluster of Storm: signalbox/storm, an entry of its own
 *
 * A room imports only from rooms further down in this order, types included:
 *
 *     storm
 *     index, builder, topology, ref
 *     components    views    lifecycle    multilang
 *                              tasks
 *                             runtime
 *                             tracking
 *                            definition
 *
 * @example
 * const lines = ["the cow jumped over the moon", "the moon jumped over the cow"];
 * const sentences = spoutFrom(lines.map((text) => ({ text })), { fields: { text: field.text } });
 * const split = bolt({
 *   input: { text: field.text },
 *   streams: { words: { word: field.text } },
 *   execute: ({ values }, { emit }) => {
 *     for (const word of values.text.split(" ")) emit.words({ word });
 *   },
 * });
 * const seen = new Map<string, number>();
 * const count = bolt({
 *   input: { word: field.text },
 *   execute: ({ values: { word } }) => {
 *     seen.set(word, (seen.get(word) ?? 0) + 1);
 *   },
 * });
 * const wordCount = topology("word-count")
 *   .spout("sentences", sentences)
 *   .bolt("split", split, { tasks: 2, from: { "sentences.items": grouping.shuffle() } })
 *   .bolt("count", count, { tasks: 2, from: { "split.words": grouping.fields("word") } })
 *   .build();
 * const running = await system.start(wordCount);
 * await running.finished();
 * await running.stop();
 * console.log(seen);
 */

export type { Direction, EdgeLook, LineStyle, NodeLook, Shape } from "../graph/graph.js";
export * from "./builder.js";
export { type BatchOptions, batchBolt } from "./components/batch.js";
export { type IterableOptions, spoutFrom } from "./components/iterable.js";
export type { WindowView } from "./components/window-held.js";
export {
  type CountPlan,
  type CountSpan,
  sliding,
  type TimePlan,
  type TimeSpan,
  tumbling,
  type WindowPlan,
} from "./components/window-plan.js";
export { type WindowOptions, windowBolt } from "./components/windows.js";
export type { Blueprint, ComponentPlan, Grouping, Subscription } from "./definition/blueprint.js";
export * from "./definition/component.js";
export {
  type ComponentConfig,
  type FullComponentConfig,
  type FullConfig,
  TOPOLOGY_DEFAULTS,
  type TopologyConfig,
} from "./definition/config.js";
export {
  AnchorError,
  BoltModeError,
  ExecuteTimeoutError,
  FieldError,
  type Problem,
  SettledError,
  TopologyError,
  TopologyPhaseError,
} from "./definition/errors.js";
export {
  type AnyValues,
  type Field,
  type Fields,
  field,
  type Streams,
  type ValuesOf,
} from "./definition/field.js";
/** Groupings. A grouping chooses the task of a bolt that gets a tuple of a subscribed stream. */
export * as grouping from "./definition/groupings.js";
export type { Tuple } from "./definition/tuple.js";
export type { StopReport } from "./lifecycle/director.js";
export type { Phase } from "./lifecycle/lifecycle-machine.js";
export type { LogLine, RunOptions } from "./lifecycle/run-options.js";
export * from "./multilang/index.js";
export type { StopOptions, TopologyRef } from "./ref.js";
export type { DeadTuple, EmittedTuple } from "./runtime/events.js";
export type { LatencyMetrics } from "./runtime/latency.js";
export type {
  ComponentMetrics,
  InputMetrics,
  MetricsWatchOptions,
  StreamMetrics,
  TopologyMetrics,
} from "./runtime/metrics.js";
export type { TaskInfo } from "./runtime/task-info.js";
export type { Topology } from "./topology.js";
export { toDot } from "./views/dot.js";
export type { GraphOptions } from "./views/graph.js";
export { type DashboardOutput, liveDashboard, type WatchedTopology } from "./views/live.js";
export { toMermaid } from "./views/mermaid.js";
export { renderDashboard, renderSummary, repaintDashboard } from "./views/view.js";
