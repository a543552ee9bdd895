// How a run goes, for people: a view of it and the lines that show it.

import type { PipelineProgress } from "signalbox/pipeline";

/** All that the screen shows: plain data, so that lines are a pure function of it. */
export interface View {
  /** Lines of the input. */
  readonly lines: number;
  /** What the process said last. Undefined: it has not said anything since it was started. */
  readonly progress: Pick<PipelineProgress, "inputs" | "done" | "dead" | "pending" | "rate"> | undefined;
  /** What was killed so far, and how often in all. */
  readonly killed: number;
  readonly kills: number;
}

export interface Show {
  /** Least milliseconds between two views; an end of a life is shown at once. */
  readonly everyMs: number;
  readonly show: (view: View) => void;
}

const BAR = 30;

/** One line of text: how far, how fast, and what was killed. */
export function progressLine({ lines, progress, killed, kills }: View): string {
  const lives = `killed ${killed} of ${kills} times`;
  if (progress === undefined) return `starting, ${lives}`;
  const { inputs, done, dead, pending, rate } = progress;
  return `${inputs} of ${lines} lines read, ${done} messages done, ${pending} pending, ${dead} dead letters, ${Math.round(rate)}/s, ${lives}`;
}

/** The whole screen. A line that wraps would be two, so none is longer than the terminal. */
export function screenLines(view: View, columns: number): string[] {
  const share = view.lines === 0 ? 1 : (view.progress?.inputs ?? 0) / view.lines;
  const full = Math.floor(share * BAR);
  const bar = `[${"#".repeat(full)}${".".repeat(BAR - full)}] ${Math.floor(share * 100)} %`;
  return [bar, progressLine(view)].map((line) => line.slice(0, Math.max(1, columns - 1)));
}
