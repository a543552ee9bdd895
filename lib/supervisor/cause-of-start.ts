// Why something did not start: the error of the child that failed, below however many supervisors.

import { StartError } from "../process/errors.js";
import type { ExitReason } from "../process/reason.js";

/** The error for which a child, or one below its supervisor, did not start. */
export function causeOfStart(error: unknown): unknown {
  if (!(error instanceof StartError)) return error;
  let { reason } = error;
  // A supervisor that cannot start a child ends with the child's id and reason.
  while (reason.type === "shutdown" && isChildReason(reason.detail)) reason = reason.detail.reason;
  return reason.type === "crash" ? reason.error : error;
}

function isChildReason(detail: unknown): detail is { readonly reason: ExitReason } {
  return typeof detail === "object" && detail !== null && "reason" in detail;
}
