// From samples to a judged row, and from rows to the table.

import { type Entry, PEERS, type Peer, type Target, type Unit } from "./catalogue.js";
import { median } from "./program.js";

/** With whom signalbox is compared. */
type Other = "otp" | Peer;

const PEER_NAMES = Object.keys(PEERS) as readonly Peer[];

/** Samples of a program's figure, by who took part. */
export interface Samples extends Partial<Record<Other, readonly number[]>> {
  readonly ours: readonly number[];
  /** Medians within each of our runs, in microseconds, where the figure is the 99th percentile. */
  readonly medianUs?: readonly number[];
}

export interface Row extends Readonly<Record<Other, number | null>> {
  readonly name: string;
  readonly unit: Unit;
  readonly ours: number;
  /** How many times better signalbox is: more of a rate, less of a weight or a time. */
  readonly ratios: Readonly<Record<Other, number | null>>;
  readonly target: string;
  /** The ratio to the peer that is the target. */
  readonly beside: number | null;
  /** Null without a target, and when the other was not there to compare with. */
  readonly met: boolean | null;
  readonly lowest: number;
  readonly highest: number;
  readonly medianUs: number | null;
}

export function judge(entry: Entry, samples: Samples): Row {
  const middle = (of: readonly number[] | undefined): number | null => (of?.length ? median(of) : null);
  const ours = median(samples.ours);
  const better = (other: number | null): number | null => {
    if (other === null) return null;
    return entry.unit === "perSecond" ? ours / other : other / ours;
  };
  const others = record((other) => middle(samples[other]));
  const ratios = record((other) => better(others[other]));
  return {
    name: entry.name,
    unit: entry.unit,
    ours,
    ...others,
    ratios,
    target: describe(entry.target, entry.unit),
    beside: entry.target?.type === "times-peer" ? ratios[entry.target.peer] : null,
    met: isMet(entry.target, ours, ratios),
    lowest: Math.min(...samples.ours),
    highest: Math.max(...samples.ours),
    medianUs: middle(samples.medianUs),
  };
}

function record<T>(value: (other: Other) => T): Record<Other, T> {
  return {
    otp: value("otp"),
    nact: value("nact"),
    xstate: value("xstate"),
    node: value("node"),
    pqueue: value("pqueue"),
    plimit: value("plimit"),
    piscina: value("piscina"),
    srvx: value("srvx"),
    dbos: value("dbos"),
    bullmq: value("bullmq"),
    disk: value("disk"),
    off: value("off"),
    sdk: value("sdk"),
    nats: value("nats"),
  };
}

function isMet(target: Target | undefined, ours: number, ratios: Row["ratios"]): boolean | null {
  const reaches = (ratio: number | null, times: number): boolean | null =>
    ratio === null ? null : ratio >= times;
  switch (target?.type) {
    case undefined:
      return null;
    case "times-otp":
      return reaches(ratios.otp, target.times);
    case "times-peer":
      return reaches(ratios[target.peer], target.times);
    case "at-least":
      return ours >= target.perSecond;
    case "at-most":
      return ours <= target.value;
    case "below":
      return ours < target.value;
    default:
      return target satisfies never;
  }
}

function describe(target: Target | undefined, unit: Unit): string {
  switch (target?.type) {
    case undefined:
      return "-";
    case "times-otp":
      return `>= ${target.times} x OTP`;
    case "times-peer":
      return `>= ${Number(target.times.toFixed(2))} x ${PEERS[target.peer]}`;
    case "at-least":
      return `>= ${format(target.perSecond, unit)}`;
    case "at-most":
      return `<= ${format(target.value, unit)}`;
    case "below":
      return `< ${format(target.value, unit)}`;
    default:
      return target satisfies never;
  }
}

/** A figure with its unit, in three digits. */
export function format(figure: number, unit: Unit): string {
  switch (unit) {
    case "perSecond":
      return figure >= 999_500 ? `${digits(figure / 1e6)} M/s` : `${digits(figure / 1e3)} k/s`;
    case "bytes":
      return `${Math.round(figure)} B`;
    case "p99Us":
      return `${digits(figure)} us`;
    case "cpuMs":
    case "ms":
      return `${digits(figure)} ms`;
    case "ns":
      return `${digits(figure)} ns`;
    case "times":
      return `${figure.toFixed(3)} x`;
    default:
      return unit satisfies never;
  }
}

const digits = (value: number): string => value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);

const HEADINGS = [
  "program",
  "signalbox",
  "lowest..highest",
  "OTP",
  "x OTP",
  ...Object.values(PEERS),
  "target",
  "met",
];

/** The rows as a Markdown table that also reads well as plain text. The columns of OTP go when it was not there. */
export function table(rows: readonly Row[], withOtp: boolean): string {
  return tableOf(
    [HEADINGS, ...rows.map(cells)].map((line) => line.filter((_, i) => withOtp || (i !== 3 && i !== 4))),
  );
}

/** Lines of cells, the headings first, as an aligned Markdown table. */
export function tableOf(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_, i) => Math.max(...lines.map((line) => line[i]?.length ?? 0)));
  const [head, ...body] = lines.map(
    (line) => `| ${line.map((cell, i) => pad(cell, widths[i] ?? 0, i)).join(" | ")} |`,
  );
  const rule = `|${widths.map((width, i) => (i === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  return [head, rule, ...body].join("\n");
}

const pad = (cell: string, width: number, column: number): string =>
  column === 0 ? cell.padEnd(width) : cell.padStart(width);

/** How many times as good as the peer of the target, in brackets. The ratio to OTP has a column of its own. */
const shownRatio = ({ beside }: Row): string => (beside === null ? "" : ` (${beside.toFixed(2)} x)`);

function cells(row: Row): string[] {
  const shown = (figure: number | null): string => (figure === null ? "-" : format(figure, row.unit));
  const ratio = row.ratios.otp === null ? "-" : row.ratios.otp.toFixed(1);
  const range = `${shown(row.lowest)} .. ${shown(row.highest)}`;
  const ours = row.medianUs === null ? shown(row.ours) : `${shown(row.ours)} (median ${shown(row.medianUs)})`;
  const met = row.met === null ? "-" : `${row.met ? "yes" : "no"}${shownRatio(row)}`;
  return [
    row.name,
    ours,
    range,
    shown(row.otp),
    ratio,
    ...PEER_NAMES.map((peer) => shown(row[peer])),
    row.target,
    met,
  ];
}
