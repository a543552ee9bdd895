// The progress of a run: its data, and the lines that show the data.

import { renderDashboard, type TopologyMetrics } from "signalbox/topology";

/** The data of the screen. The lines are a pure function of this data. */
export interface View {
  /** Lines that were read, and lines that are done. */
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

/** The progress as one line of text: how far, how fast, and failures. */
export function progressLine({ read, done, kills, replayed, elapsedMs }: View): string {
  const seconds = elapsedMs / 1_000;
  const rate = seconds > 0 ? Math.round(done / seconds) : 0;
  return `${seconds.toFixed(1)} s: ${done} of ${read} lines done, ${rate}/s, ${kills} kills, ${replayed} replayed`;
}

/** The whole screen, with rates since the last view. Lines that do not fit on the terminal are left out. */
export function screenLines(
  view: View,
  before: View | undefined,
  columns: number,
  rows: number,
): readonly string[] {
  // A wrapped line takes two rows, and the next drawing would begin too far down.
  const width = Math.max(1, columns - 1);
  const head = progressLine(view).slice(0, width);
  // The cursor stays on the line below.
  return [head, ...renderDashboard(view.metrics, before?.metrics, width)].slice(0, Math.max(0, rows - 1));
}
