// How long the rows of executions that have ended stay in the store. The options are checked once.

import { type Duration, duration } from "../../process/duration.js";
import { only } from "../../process/known-options.js";
import { count } from "../../process/options.js";

/**
 * How long the rows of executions that have ended are kept: lineage, dead letters, kept values, what adapters remember. Then they are
 * summed up by route and removed; the execution itself stays, with its counts and totals. Rows without a limit are kept for ever.
 */
export interface PipelineRetentionOptions {
  /** How long those of executions that completed are kept. */
  readonly completed?: Duration;
  /** How long those of executions that failed are kept. */
  readonly failed?: Duration;
  /** How long those of executions that were cancelled are kept. */
  readonly cancelled?: Duration;
  /** Most ended executions whose rows are kept. Beyond it, those that ended first are summed up. */
  readonly most?: number;
  /** How often the host looks for executions to sum up. Default 10 minutes; first when it starts. */
  readonly every?: Duration;
}

/** A retention, checked. Times are milliseconds. */
export interface PipelineRetention {
  readonly ages: ReadonlyMap<string, number>;
  readonly most: number;
  readonly everyMs: number;
}

const STATUSES = ["completed", "failed", "cancelled"] as const;
const EVERY_MS = 600_000;

/** @throws OptionError */
export function checkRetention(options: PipelineRetentionOptions): PipelineRetention {
  only("retention", options, [...STATUSES, "most", "every"]);
  const ages = new Map<string, number>();
  for (const status of STATUSES) {
    const age = options[status];
    if (age !== undefined) ages.set(status, duration(`retention.${status}`, age));
  }
  return {
    ages,
    most: count("retention.most", options.most ?? Number.POSITIVE_INFINITY, 0, true),
    everyMs: duration("retention.every", options.every ?? EVERY_MS, 1_000),
  };
}
