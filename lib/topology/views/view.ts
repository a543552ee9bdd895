// Metrics for people: a table to print, and the lines of a dashboard that is redrawn at intervals. These functions only
// return text; the caller writes to the terminal.

import { OptionError } from "../../process/errors.js";
import { count, withList } from "../../process/options.js";
import type { LatencyMetrics } from "../runtime/latency.js";
import type { ComponentMetrics, TopologyMetrics } from "../runtime/metrics.js";

/** A component with this capacity or more is a bottleneck. */
const BOTTLENECK = 0.8;
const COLUMNS = 100;
const GAP = "  ";
const BAR = 10;
/** Cells of a component's name on the screen. */
const LONGEST_NAME = 24;
const NONE = "–";

// ── the table ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface Column {
  readonly title: string;
  readonly of: (component: ComponentMetrics) => string;
  /** The total of all components. Undefined for counters that mix trees and tuples. */
  readonly total?: (components: readonly ComponentMetrics[]) => string;
}

type Counter = {
  [K in keyof ComponentMetrics]-?: ComponentMetrics[K] extends number ? K : never;
}[keyof ComponentMetrics];

function counter(title: Counter & string): Column {
  return { title, of: (component) => grouped(component[title]) };
}

function summed(title: Counter & string): Column {
  return { ...counter(title), total: (components) => grouped(sum(components, title)) };
}

function sum(components: readonly ComponentMetrics[], name: Counter): number {
  return components.reduce((before, component) => before + component[name], 0);
}

function meanAndP99(title: string, of: (component: ComponentMetrics) => LatencyMetrics | undefined): Column {
  return {
    title,
    of: (component) => {
      const latency = of(component);
      return latency === undefined
        ? NONE
        : `${milliseconds(latency.meanMs)} / ${milliseconds(latency.p99Ms)}`;
    },
  };
}

const TABLE: readonly Column[] = [
  { title: "component", of: ({ name }) => printable(name), total: () => "total" },
  { title: "kind", of: ({ kind }) => kind },
  {
    title: "tasks",
    of: ({ tasks, executors }) =>
      tasks === executors ? grouped(tasks) : `${grouped(tasks)} in ${grouped(executors)}`,
    total: (components) => grouped(sum(components, "tasks")),
  },
  summed("emitted"),
  summed("executed"),
  counter("acked"),
  counter("failed"),
  counter("expired"),
  summed("dead"),
  summed("late"),
  summed("lost"),
  summed("errors"),
  summed("restarts"),
  counter("pending"),
  summed("waiting"),
  { title: "capacity", of: ({ capacity }) => (capacity === undefined ? NONE : capacity.toFixed(2)) },
  meanAndP99("complete ms", ({ completeLatency }) => completeLatency),
  meanAndP99("execute ms", ({ executeLatency }) => executeLatency),
  meanAndP99("process ms", ({ processLatency }) => processLatency),
];

function checkFigures(path: string, metrics: TopologyMetrics): void {
  withList(path, metrics, "components", "figures of a topology: those of `metrics()` or `watch()`");
}

/**
 * Writes a table of all components. Counters are since the start: `acked` and `failed` count trees for spouts, and tuples
 * for bolts. Latencies are mean / p99. Below the table stand the components that are at their limit.
 *
 * @example
 * console.log(renderSummary({ name: "words", phase: "running", uptimeMs: 1_000, components: [] }));
 */
export function renderSummary(metrics: TopologyMetrics): string {
  checkFigures("metrics", metrics);
  const { components } = metrics;
  const cells = [
    TABLE.map(({ title }) => title),
    ...components.map((component) => TABLE.map(({ of }) => of(component))),
    TABLE.map(({ total }) => total?.(components) ?? ""),
  ];
  const widths = TABLE.map((_, at) => Math.max(...cells.map((row) => width(row[at] as string))));
  const [head = "", ...rows] = cells.map((row) => line(row, widths, 2));
  const last = rows.pop() ?? "";
  const rule = "─".repeat(width(head));
  return [
    title(metrics),
    "",
    head,
    rule,
    ...rows,
    rule,
    last,
    "",
    ...trees(components),
    ...warning(components),
    "",
  ].join("\n");
}

/** The outcome of the spouts' reliable tuples. */
function trees(components: readonly ComponentMetrics[]): readonly string[] {
  const spouts = components.filter(({ kind }) => kind === "spout");
  const said = (["acked", "failed", "expired", "dead", "pending"] as const).map(
    (name) => `${grouped(sum(spouts, name))} ${name}`,
  );
  return [`reliable tuples: ${said.join(", ")}`];
}

function warning(components: readonly ComponentMetrics[]): readonly string[] {
  let worst: ComponentMetrics | undefined;
  for (const component of components)
    if ((component.capacity ?? 0) > (worst?.capacity ?? BOTTLENECK)) worst = component;
  if (worst?.capacity === undefined) return [];
  // An estimate from samples may exceed 100 %.
  const share = Math.min(100, Math.round(worst.capacity * 100));
  return [`bottleneck: ${printable(worst.name)}, whose busiest task is at work ${share} % of the time`];
}

function title({ name, phase, uptimeMs }: TopologyMetrics): string {
  return `${printable(name)}: ${phase}, up ${duration(uptimeMs)}`;
}

// ── the screen ──────────────────────────────────────────────────────────────────────────────────────────────────────

interface Gauge {
  readonly title: string;
  readonly cells: number;
  readonly of: (now: ComponentMetrics, before: ComponentMetrics | undefined, seconds: number) => string;
}

/** The latency of a component: of its trees for a spout, of its own work for a bolt. */
function latencyOf({ kind, completeLatency, executeLatency }: ComponentMetrics): LatencyMetrics | undefined {
  return kind === "spout" ? completeLatency : executeLatency;
}

function perSecond(title: string, name: "emitted" | "executed"): Gauge {
  return {
    title,
    cells: 9,
    of: (now, before, seconds) =>
      seconds > 0 ? compact((now[name] - (before?.[name] ?? 0)) / seconds, 1) : NONE,
  };
}

function gauge(name: Counter & string): Gauge {
  return { title: name, cells: Math.max(6, name.length), of: (now) => compact(now[name]) };
}

/** The columns from left to right. {@link DISPENSABLE} says which are left out first when there is no room for all. */
const GAUGES: readonly Gauge[] = [
  perSecond("emitted/s", "emitted"),
  { ...perSecond("executed/s", "executed"), cells: 10 },
  gauge("pending"),
  gauge("waiting"),
  {
    title: "capacity",
    cells: BAR + 5,
    of: ({ capacity }) => (capacity === undefined ? NONE : bar(capacity)),
  },
  { title: "mean ms", cells: 7, of: (now) => optional(latencyOf(now)?.meanMs) },
  { title: "p99 ms", cells: 6, of: (now) => optional(latencyOf(now)?.p99Ms) },
  gauge("failed"),
  gauge("expired"),
  gauge("dead"),
  gauge("lost"),
  gauge("restarts"),
];

const DISPENSABLE = [
  ...["lost", "executed/s", "dead", "waiting", "expired", "p99 ms", "restarts", "failed"],
  ...["mean ms", "capacity", "pending", "emitted/s"],
];

/**
 * Returns the lines of a dashboard. No line is wider than `columns` cells (default 100); columns without room are left
 * out, the least useful first. Rates are measured since `previous`, earlier metrics of the same topology. Without
 * `previous`, or when the topology has restarted since then, rates are measured since the start. The latency of a spout is
 * the complete latency, that of a bolt is the execute latency.
 *
 * @throws OptionError when `columns` is not a whole number of at least 1
 * @example
 * const metrics = { name: "words", phase: "running", uptimeMs: 1_000, components: [] };
 * for (const line of renderDashboard(metrics, undefined, 80)) console.log(line);
 */
export function renderDashboard(
  metrics: TopologyMetrics,
  previous?: TopologyMetrics,
  columns: number = COLUMNS,
): readonly string[] {
  checkFigures("metrics", metrics);
  if (previous !== undefined) checkFigures("previous", previous);
  count("columns", columns, 1);
  const { components, uptimeMs } = metrics;
  const earlier =
    previous !== undefined && previous.uptimeMs < uptimeMs && !shrunk(metrics, previous)
      ? previous
      : undefined;
  const before = new Map(earlier?.components.map((component) => [component.name, component]));
  const seconds = (uptimeMs - (earlier?.uptimeMs ?? 0)) / 1_000;
  const longest = Math.max("component".length, ...components.map(({ name }) => width(printable(name))));
  const nameWidth = Math.min(LONGEST_NAME, longest, columns);
  const gauges = fitting(columns - nameWidth);
  const widths = [nameWidth, ...gauges.map(({ cells }) => cells)];
  const rows = components.map((component) => [
    clip(printable(component.name), nameWidth),
    ...gauges.map(({ of }) => of(component, before.get(component.name), seconds)),
  ]);
  const lines = [["component", ...gauges.map(({ title }) => title)], ...rows].map((row) =>
    line(row, widths, 1),
  );
  return [title(metrics), "", ...lines, "", ...warning(components)].map((text) => clip(text, columns));
}

/** Whether a counter is lower than before. Counters of one run only grow, so the metrics are then of two runs. */
function shrunk(now: TopologyMetrics, previous: TopologyMetrics): boolean {
  const before = new Map(previous.components.map((component) => [component.name, component]));
  return now.components.some(({ name, emitted, executed }) => {
    const then = before.get(name);
    return then !== undefined && (emitted < then.emitted || executed < then.executed);
  });
}

function fitting(room: number): readonly Gauge[] {
  const left = new Set(GAUGES);
  const taken = (): number => [...left].reduce((sum, { cells }) => sum + GAP.length + cells, 0);
  for (const name of DISPENSABLE) {
    if (taken() <= room) break;
    for (const one of left) if (one.title === name) left.delete(one);
  }
  return [...left];
}

/**
 * Returns the text to write to a terminal so that these lines replace the `linesBefore` lines written last, with the cursor
 * below them. A terminal cannot redraw more lines than it has rows, so pass fewer lines than that.
 *
 * @example console.log(JSON.stringify(repaintDashboard(["one"], 2))); // up two lines, "one", and nothing below it
 */
export function repaintDashboard(lines: readonly string[], linesBefore: number): string {
  if (!Array.isArray(lines)) throw new OptionError("lines", lines, "an array of lines");
  count("linesBefore", linesBefore, 0);
  const up = linesBefore > 0 ? `\u001b[${linesBefore}A` : "";
  // Clears each line before writing it: after a line of full width the cursor still stands on its last cell.
  return `${up}${lines.map((text) => `\r\u001b[2K${text}\n`).join("")}\r\u001b[J`;
}

// ── text ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Aligns the first columns to the left; the others are numbers, and align to the right. */
function line(row: readonly string[], widths: readonly number[], atLeft: number): string {
  return row
    .map((text, at) => {
      const padding = " ".repeat(Math.max(0, (widths[at] as number) - width(text)));
      return at < atLeft ? text + padding : padding + text;
    })
    .join(GAP)
    .trimEnd();
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

function printable(text: string): string {
  return text.replace(UNPRINTABLE, "·");
}

/** Scripts and signs that take two cells of a terminal (an approximation). */
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{3fffd}]/u;
const MARK = /\p{M}/u;

function width(text: string): number {
  let cells = 0;
  for (const char of text) cells += cellsOf(char);
  return cells;
}

function cellsOf(char: string): number {
  if (char < "\u0300") return 1;
  return MARK.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
}

/** The text, cut and ended with `…` when it does not fit. */
function clip(text: string, most: number): string {
  if (width(text) <= most) return text;
  let kept = "";
  let cells = 1;
  for (const char of text) {
    cells += cellsOf(char);
    if (cells > most) break;
    kept += char;
  }
  return `${kept}…`;
}

function bar(share: number): string {
  const full = Math.min(BAR, Math.max(0, Math.round(share * BAR)));
  return `${"█".repeat(full)}${"░".repeat(BAR - full)} ${Math.min(share, 9.99).toFixed(2)}`;
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

function optional(ms: number | undefined): string {
  return ms === undefined ? NONE : milliseconds(ms);
}

function milliseconds(ms: number): string {
  if (ms < 9.995) return ms.toFixed(2);
  return ms < 99.95 ? ms.toFixed(1) : compact(ms);
}

const UNITS = ["", "k", "M", "G", "T", "P"];

/** A number in three digits and a unit: at most six characters. */
function compact(value: number, digits = 0): string {
  if (value === 0) return "0";
  let left = value;
  let unit = 0;
  while (Math.round(left) >= 1_000 && unit < UNITS.length - 1) {
    left /= 1_000;
    unit++;
  }
  return `${left.toFixed(left < 99.95 ? (unit > 0 ? 1 : digits) : 0)}${UNITS[unit]}`;
}

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const two = (value: number): string => String(value).padStart(2, "0");
  if (seconds < 60) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  return `${Math.floor(seconds / 3_600)} h ${two(Math.floor(seconds / 60) % 60)} min`;
}
