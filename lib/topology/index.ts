/**
 * signalbox/topology: streams of tuples through spouts and bolts, each task of which is a supervised process, and
 * every tuple of a reliable spout is followed until all that came of it is done.
 *
 *     field.ts, component.ts, builder.ts   what a user declares; check.ts finds what types cannot see
 *     windows.ts, batch.ts, iterable.ts    ready-made kinds of bolts and spouts
 *     groupings.ts                         which task a tuple goes to: routing functions of dispatch
 *     config.ts                            every option, with its default
 *     acker-machine.ts, pending.ts,        what decides: trees of tuples, retries, choices of tasks,
 *       router.ts, lifecycle.ts              the life of the whole
 *     acker-task.ts, bolt-task.ts,         the processes, and tree.ts, their supervisors
 *       spout-task.ts, system-task.ts, director.ts
 *     run.ts, slot.ts, lanes.ts, outlet.ts what they share: places of tasks, and the way of a tuple
 *     trace.ts, losses.ts, lineage.ts      what a tuple comes of, also when it is tried again
 *     ref.ts, metrics.ts, view.ts, live.ts what one sees of it from outside
 *     dot.ts, mermaid.ts                   graphs
 *     multilang/                           components in other languages, and ours under Storm
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
 *   .bolt("split", split, { tasks: 2, from: { "sentences.items": shuffle() } })
 *   .bolt("count", count, { tasks: 2, from: { "split.words": fields("word") } })
 *   .build();
 * const running = await system.start(wordCount);
 * await running.finished();
 * await running.stop();
 * console.log(seen);
 */

export { type BatchOptions, batchBolt } from "./batch.js";
export type { Blueprint, ComponentPlan, Grouping, Wire } from "./blueprint.js";
export * from "./builder.js";
export * from "./component.js";
export {
  type ComponentConfig,
  type FullComponentConfig,
  type FullConfig,
  TOPOLOGY_DEFAULTS,
  type TopologyConfig,
} from "./config.js";
export type { StopReport } from "./director.js";
export { toDot } from "./dot.js";
export {
  AnchorError,
  BoltModeError,
  ExecuteTimeoutError,
  FieldError,
  type Problem,
  SettledError,
  TopologyError,
  TopologyPhaseError,
} from "./errors.js";
export type { DeadTuple, EmittedTuple } from "./events.js";
export { type AnyValues, type Field, type Fields, field, type Streams, type ValuesOf } from "./field.js";
export type { Direction, EdgeLook, GraphOptions, LineStyle, NodeLook, Shape } from "./graph.js";
export { all, direct, fields, global, localOrShuffle, none, partialKey, shuffle } from "./groupings.js";
export { type IterableOptions, spoutFrom } from "./iterable.js";
export type { LatencyMetrics } from "./latency.js";
export type { Phase } from "./lifecycle.js";
export { live, type Screen, type WatchedTopology } from "./live.js";
export { toMermaid } from "./mermaid.js";
export type {
  ComponentMetrics,
  InputMetrics,
  StreamMetrics,
  TopologyMetrics,
  WatchOptions,
} from "./metrics.js";
export * from "./multilang/index.js";
export type { StopOptions, TopologyRef } from "./ref.js";
export type { TaskInfo } from "./run.js";
export type { LogLine, RunOptions } from "./run-options.js";
export type { Topology } from "./topology.js";
export type { Tuple } from "./tuple.js";
export { repaint, screen, summary } from "./view.js";
export type { WindowView } from "./window-held.js";
export {
  type CountPlan,
  type CountSpan,
  sliding,
  type TimePlan,
  type TimeSpan,
  tumbling,
  type WindowPlan,
} from "./window-plan.js";
export { type WindowOptions, windowBolt } from "./windows.js";
