// The report of a crash that no process heard of.

import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";
import { formatReason, show, stackOf } from "./show.js";

/** A process ended abnormally, unobserved. */
export interface CrashReport {
  readonly pid: Pid;
  readonly reason: ExitReason;
  /** The message it was at work on, if any. */
  readonly lastMessage: unknown;
  /** Stack of the Error it died of, if it died of one. */
  readonly stack: string | undefined;
  /** All of it, as printed by default. */
  readonly text: string;
}

export function crashReport(pid: Pid, reason: ExitReason, lastMessage: unknown): CrashReport {
  const stack = reason.type === "crash" ? stackOf(reason.error) : undefined;
  const at = lastMessage === undefined ? "" : ` at message ${show(lastMessage)}`;
  const text = `${pid} ended, and nobody was linked to it or monitored it: ${formatReason(reason)}${at}${stack === undefined ? "" : `\n${stack}`}`;
  return { pid, reason, lastMessage, stack, text };
}
