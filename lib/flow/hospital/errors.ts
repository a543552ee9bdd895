// Errors by which a host says why a flow is in its hospital.

import { SignalboxError } from "../../process/errors.js";

/**
 * A checkpoint of a flow cannot be read: an entry of its journal is damaged or missing. The flow is quarantined; others run.
 *
 * @remedy Restore the entry from a backup and discharge the flow, retry the flow from an earlier step, or kill it.
 */
export class JournalDamagedError extends SignalboxError {
  static override readonly name: string = "JournalDamagedError";
  readonly code = "ERR_FLOW_JOURNAL_DAMAGED";
  /** The id of the flow. */
  readonly flowId: string;
  /** The number of the entry, 0 for the first. */
  readonly entry: number;
  constructor(flowId: string, entry: number, what: string, options?: ErrorOptions) {
    super(`journal entry ${entry} of flow "${flowId}" ${what}`, options);
    this.flowId = flowId;
    this.entry = entry;
  }
}

/**
 * The process of the host has died again and again while this flow ran, and the flow made no progress in between. It is kept in the
 * hospital before any of its code runs, and the host serves its other flows.
 *
 * @remedy Look at what the flow does next: endless recursion, all memory, `process.exit`. Mend the code, then discharge the flow.
 */
export class CrashLoopError extends SignalboxError {
  static override readonly name: string = "CrashLoopError";
  readonly code = "ERR_FLOW_CRASH_LOOP";
  /** The id of the flow. */
  readonly flowId: string;
  /** How often the process has died. */
  readonly crashes: number;
  constructor(flowId: string, crashes: number) {
    super(`the process died ${crashes} times while flow "${flowId}" ran, and the flow made no progress`);
    this.flowId = flowId;
    this.crashes = crashes;
  }
}
