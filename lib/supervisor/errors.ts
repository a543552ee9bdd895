// Errors of supervisors.

import { SignalboxError } from "../process/errors.js";
import { type ExitReason, formatReason } from "../process/reason.js";
import type { ChildProblem } from "./protocol.js";

/**
 * A supervisor could not do what it was asked to do with a child. `problem` is the reason, in OTP's word.
 *
 * @remedy Match on `problem`: `after `already_present`, for instance, call `restartChild`, or `deleteChild`
 * first.
 */
export class ChildError extends SignalboxError {
  static override readonly name: string = "ChildError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_CHILD";
  /** Why the request failed. */
  readonly problem: DynamicProblem;
  /** Why it did not start, for `start_failed`. */
  readonly reason: ExitReason | undefined;

  /** The library creates these errors. */
  constructor(supervisor: string, id: string, problem: DynamicProblem, reason?: ExitReason) {
    super(
      `${supervisor}: child "${id}" ${TEXTS[problem]}${reason === undefined ? "" : `: ${formatReason(reason)}`}`,
      reason?.type === "crash" ? { cause: reason.error } : undefined,
    );
    this.problem = problem;
    this.reason = reason;
  }
}

type DynamicProblem = ChildProblem | "max_children" | "ignored";

const TEXTS: { readonly [problem in DynamicProblem]: string } = {
  not_found: "is not one of its children; see whichChildren()",
  running: "is running; terminate it first",
  restarting: "is being restarted; terminate it first to end that restart",
  already_started: "is running already; choose another id or name, or use startOrGet",
  already_present: "is known and stopped; use restartChild, or deleteChild first",
  start_failed: "did not start",
  ignored: "was not started: its init returned `ignore`",
  max_children: "would be one more than maxChildren allows",
};
