// Errors by which a host says why a flow is in its hospital.

import type { EvidenceKind, EvidenceMark } from "../../host/index.js";
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
 * The program has died again and again, each time with evidence that code of this flow ended it, and the flow made no progress in
 * between. It is kept in the hospital before any of its code runs, and the host serves its other flows. After a wait that grows it runs
 * again. A kill from outside, a deploy and a loss of power are no evidence.
 *
 * @remedy Look at what the flow does next: the evidence says whether it called `process.exit`, threw an error that was not caught, kept
 * the thread,
 * or took all memory. Mend the code, then discharge the flow.
 */
export class CrashLoopError extends SignalboxError {
  static override readonly name: string = "CrashLoopError";
  readonly code = "ERR_FLOW_CRASH_LOOP";
  /** The id of the flow. */
  readonly flowId: string;
  /** How often the program has died so. */
  readonly crashes: number;
  /** The evidence of the last time. */
  readonly evidence: EvidenceMark;
  constructor(flowId: string, crashes: number, evidence: EvidenceMark) {
    const times = crashes === 1 ? "once" : `${crashes} times`;
    super(
      `flow "${flowId}" ended the program ${times} without progress; the last time ${DEEDS[evidence.kind]}`,
    );
    this.flowId = flowId;
    this.crashes = crashes;
    this.evidence = evidence;
  }
}

const DEEDS: Readonly<Record<EvidenceKind, string>> = {
  exit: "its code called process.exit",
  uncaught: "an uncaught error of its code ended the program",
  spin: "its code kept the thread until the program was killed",
  standing:
    "its code ran when the program ended without a trace, as after a native abort or for lack of memory",
  search: "the program died when this flow ran, and did not die without it",
};
