// What is known of an execution.

import type { MissingPart } from "../definition/missing.js";
import type { LedgerCounts } from "../ledger/ledger.js";
import type { ExecutionStatus } from "../ledger/tables.js";
import type { RouteTotals } from "../retention/totals.js";

/** What an execution is, and how far it is. */
export interface PipelineSummary extends LedgerCounts {
  /** The id of the execution. */
  readonly id: string;
  /** The name of its pipeline. */
  readonly pipeline: string;
  /** The version of the pipeline with which it began. Absent: 1. */
  readonly version?: number;
  /** What it is doing, or how it ended. */
  readonly status: ExecutionStatus;
  /** When it was started, in milliseconds since 1970. */
  readonly created: number;
  /** When it ended, in milliseconds since 1970. */
  readonly ended: number | undefined;
  /** Messages that were dead letters, and that a replay has. Absent: none. */
  readonly replayed?: number;
  /** Messages that people have ended, dead letters or not; they count among those that are done. Absent: none. */
  readonly dropped?: number;
  /** Parts that it needs and its pipeline does not have: it cannot end with this definition. Absent: none, as far as a host has looked. */
  readonly stranded?: readonly MissingPart[];
  /** What its routes did, once its history was summed up and removed. See `retention` of a host. */
  readonly totals?: readonly RouteTotals[];
}
