// How far an execution is, in one line.

import type { PipelineProgress } from "../../pipeline/runtime/progress.js";
import { count, lengthOf } from "../shell/style.js";

const BAR = 20;
const PERCENT = 100;

/** The line, cut to the width of the terminal. */
export function progressLine(
  { done, dead, pending, rate, estimateMs }: PipelineProgress,
  columns: number | undefined,
): string {
  const all = done + pending;
  const share = all === 0 ? 1 : done / all;
  const full = Math.floor(share * BAR);
  const bar = `[${"█".repeat(full)}${"░".repeat(BAR - full)}]`;
  const parts = [
    `${bar} ${String(Math.floor(share * PERCENT)).padStart(3)} %`,
    `${count(done)} done`,
    ...(pending > 0 ? [`${count(pending)} pending`] : []),
    ...(dead > 0 ? [`${count(dead)} dead`] : []),
    ...(rate > 0 ? [`${count(Math.round(rate))}/s`] : []),
    ...(estimateMs !== undefined && pending > 0 ? [`${lengthOf(estimateMs)} left`] : []),
  ];
  const line = parts.join("  ");
  return columns === undefined ? line : line.slice(0, Math.max(0, columns - 1));
}
