// The timeline of a flow as rows with bars along the time. Pure: the page draws it.

import type { FlowTimeline } from "../../../flow/operations/operations.js";
import type { TimelineItem } from "../../../flow/operations/timeline.js";

/** A stretch of time, in shares of the whole length. */
export interface TimeSpan {
  readonly left: number;
  readonly width: number;
}

export interface TimelineRow {
  readonly item: TimelineItem;
  /** From the left end where its begin was not read. */
  readonly bar: TimeSpan;
  /** Where attempts failed. */
  readonly marks: readonly number[];
  /** How long it took, or takes so far. Undefined: its begin was not read. */
  readonly tookMs: number | undefined;
}

export interface ShownTimeline {
  readonly rows: readonly TimelineRow[];
  readonly from: number;
  readonly to: number;
  /** What it waits for: items without an outcome. */
  readonly open: readonly TimelineItem[];
}

type Timeline = Pick<FlowTimeline, "items" | "at" | "isCut"> & {
  readonly flow: Pick<FlowTimeline["flow"], "createdAt" | "finishedAt">;
};

export function shownTimeline({ flow, items, at: now, isCut }: Timeline): ShownTimeline {
  const times = items.flatMap(({ at, endedAt, attempts }) => [at, endedAt, ...attempts.map((one) => one.at)]);
  const known = times.filter((time) => time !== undefined);
  const from = isCut ? Math.min(now, ...known) : flow.createdAt;
  const to = Math.max(from + 1, flow.finishedAt ?? now, ...known);
  return {
    rows: items.map((item) => rowOf(item, from, to)),
    from,
    to,
    open: items.filter(({ endedAt }) => endedAt === undefined),
  };
}

function rowOf(item: TimelineItem, from: number, to: number): TimelineRow {
  const { at, endedAt, attempts } = item;
  const end = endedAt ?? to;
  return {
    item,
    bar: spanOf(from, to, at ?? from, end),
    marks: attempts.map((one) => spanOf(from, to, one.at, one.at).left),
    tookMs: at === undefined ? undefined : Math.max(0, end - at),
  };
}

/** A stretch that is too short to be seen has this share. */
const LEAST_WIDTH = 0.004;

/** Where a stretch of time stands between two times. It is inside of them, and can be seen. */
export function spanOf(from: number, to: number, begin: number, end: number): TimeSpan {
  const length = Math.max(1, to - from);
  const left = clamp((begin - from) / length, 0, 1 - LEAST_WIDTH);
  const width = clamp((end - begin) / length, LEAST_WIDTH, 1 - left);
  return { left, width };
}

const clamp = (value: number, least: number, most: number): number => Math.min(most, Math.max(least, value));
