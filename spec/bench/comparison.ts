// From pairs of turns of two revisions to a ratio with its spread.

import type { Unit } from "./catalogue.js";
import { type Figures, median } from "./program.js";
import { format, tableOf } from "./result.js";

/** What both sides of one turn measured, side by side in time. */
export interface Pair {
  readonly now: number;
  readonly before: number;
}

export type Verdict = "faster" | "slower" | "same" | "new";

/** A program on two revisions. */
export interface Compared {
  readonly name: string;
  readonly unit: Unit;
  readonly now: number;
  /** Null where the older revision cannot run the program. */
  readonly before: number | null;
  /** How many times better `now` is: above 1 it does more in a second of the processor, or weighs less. */
  readonly ratio: number | null;
  readonly lowest: number | null;
  readonly highest: number | null;
  readonly verdict: Verdict;
}

/** Which figure tells two revisions apart, by unit: the time of the processor where the figure is a speed. */
const FIGURE: Readonly<Record<Unit, string>> = {
  perSecond: "perCpuSecond",
  ns: "cpuNs",
  cpuMs: "cpuMs",
  bytes: "bytes",
  p99Us: "medianUs",
  ms: "ms",
  times: "times",
};

/** The figure of a turn: the median of its rounds. */
export function figureOf(unit: Unit, rounds: readonly Figures[]): number {
  return median(rounds.map((figures) => figures[FIGURE[unit]] ?? Number.NaN));
}

/** A ratio within this distance of 1 is no difference, even when every pair of turns agrees on its direction. */
const NOTICEABLE = 0.03;

/**
 * The median of the pairs' ratios. A program is `slower` or `faster` when every pair says so and the median is off by at
 * least three in a hundred.
 */
export function compare(name: string, unit: Unit, pairs: readonly Pair[]): Compared {
  const ratios = pairs.map(({ now, before }) => (unit === "perSecond" ? now / before : before / now));
  const [ratio, lowest, highest] = [median(ratios), Math.min(...ratios), Math.max(...ratios)];
  return {
    name,
    unit,
    now: median(pairs.map((pair) => pair.now)),
    before: median(pairs.map((pair) => pair.before)),
    ratio,
    lowest,
    highest,
    verdict: judge(ratio, lowest, highest),
  };
}

function judge(ratio: number, lowest: number, highest: number): Verdict {
  if (highest < 1 && ratio <= 1 - NOTICEABLE) return "slower";
  if (lowest > 1 && ratio >= 1 + NOTICEABLE) return "faster";
  return "same";
}

/** A program that only the newer revision can run. */
export function onlyNow(name: string, unit: Unit, now: number): Compared {
  return { name, unit, now, before: null, ratio: null, lowest: null, highest: null, verdict: "new" };
}

/** The rows as a Markdown table, and a last line that names the slower ones. */
export function comparisonTable(rows: readonly Compared[], revision: string): string {
  const cells = rows.map((row) => [
    row.name,
    shown(row.unit, row.now),
    row.before === null ? "-" : shown(row.unit, row.before),
    row.ratio === null ? "-" : row.ratio.toFixed(2),
    row.lowest === null || row.highest === null
      ? "-"
      : `${row.lowest.toFixed(2)} .. ${row.highest.toFixed(2)}`,
    row.verdict,
  ]);
  const slower = rows.filter((row) => row.verdict === "slower").map((row) => row.name);
  const summary = slower.length === 0 ? "No program is slower." : `Slower: ${slower.join(", ")}.`;
  return `${tableOf([["program", "now", revision, "ratio", "lowest..highest", "verdict"], ...cells])}\n\n${summary}`;
}

/** A rate by the time of the processor says so. */
function shown(unit: Unit, figure: number): string {
  return unit === "perSecond" ? format(figure, unit).replace("/s", "/cpu s") : format(figure, unit);
}
