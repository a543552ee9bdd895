// How a run goes, for people: a view of it, and the lines that show it.

import { renderDashboard, type TopologyMetrics } from "signalbox/topology";

/** All that is shown: plain data, so that lines are a pure function of it. */
export interface View {
  /** Lines that were read, and those of them that are done. */
  readonly read: number;
  readonly done: number;
  readonly kills: number;
  readonly replayed: number;
  readonly elapsedMs: number;
  readonly metrics: TopologyMetrics;
}

export interface Show {
  readonly everyMs: number;
  readonly show: (view: View) => void;
}

/** One line of text: how far, how fast, what went wrong. */
export function progressLine({ read, done, kills, replayed, elapsedMs }: View): string {
  const seconds = elapsedMs / 1_000;
  const rate = seconds > 0 ? Math.round(done / seconds) : 0;
  return `${seconds.toFixed(1)} s: ${done} of ${read} lines done, ${rate}/s, ${kills} kills, ${replayed} replayed`;
}

/** The whole screen; rates are those since the view before. What does not fit on the terminal is left out. */
export function screenLines(
  view: View,
  before: View | undefined,
  columns: number,
  rows: number,
): readonly string[] {
  // A line that wraps would be two, and the next drawing would begin too far down.
  const width = Math.max(1, columns - 1);
  const head = progressLine(view).slice(0, width);
  // The cursor rests on the line below.
  return [head, ...renderDashboard(view.metrics, before?.metrics, width)].slice(0, Math.max(0, rows - 1));
}
