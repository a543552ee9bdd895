// How long the rows of executions that have ended stay in the store. The options are checked once.

import { type Retention, checkRetention as retentionOf } from "../../host/retention.js";
import type { Duration } from "../../process/duration.js";

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

/** A retention, checked. */
export type PipelineRetention = Retention<string>;

/** @throws OptionError */
export function checkRetention(options: PipelineRetentionOptions): PipelineRetention {
  return retentionOf(options, ["completed", "failed", "cancelled"]);
}
