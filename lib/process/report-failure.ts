// The failures of processes that are reported: crashes that nobody observed, and what is thrown too late.

import { ProcessExitedError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import type { ExitReason } from "./reason.js";
import { crashReport, pathOf } from "./report.js";
import { showThrown } from "./show.js";

/** A process ended abnormally, unobserved. Nothing is built for a report that nobody gets. */
export function reportCrash(
  kernel: Kernel,
  process: Process,
  reason: ExitReason,
  lastMessage: unknown,
): void {
  const { reports, events } = kernel;
  const { pid } = process;
  const isPrinted = reports.admits();
  if (!isPrinted && !events.wants.crash) return;
  const said = reports.said(lastMessage);
  const report = crashReport(pid, reason, lastMessage, said);
  if (events.wants.crash) events.publish("crash", report);
  if (!isPrinted) return;
  reports.write({
    level: "error",
    event: "crash",
    pid,
    path: pathOf(pid, process.parent),
    reason,
    error: reason.type === "crash" ? reason.error : undefined,
    message: said?.message,
    text: report.text,
  });
}

/**
 * Code of a process that has ended, or is on its way out with a reason of its own, threw. A refused effect is what should
 * happen; the rest is reported.
 */
export function reportLate({ reports, events }: Kernel, pid: Pid, error: unknown): void {
  if (isRefusal(error, pid)) return;
  if (events.wants.lateError) events.publish("lateError", { pid, error });
  if (!reports.admits()) return;
  const when = pid.process === undefined ? "after its exit" : "while it terminated";
  const text = `${pid} threw ${when}: ${showThrown(error)}`;
  reports.write({ level: "error", event: "lateError", pid, path: pathOf(pid), error, text });
}

let unownedWasReported = false;

/**
 * Reports that the host cannot say which process made a promise: once in a program, by the first system that prints reports.
 * The report comes in a later turn, when the code that creates the system has the system in hand.
 */
export function reportUnowned(kernel: Kernel): void {
  const fire = (): void => {
    if (unownedWasReported || !kernel.reports.admits()) return;
    unownedWasReported = true;
    const { name } = kernel.node;
    const text = `${name}: this host has no promise hooks (node:v8). A rejection that nobody awaited ends no process here: the host handles it`;
    kernel.reports.write({ level: "warn", event: "host", path: name, text });
  };
  kernel.addTimer(0, { fire });
}

/** The error that a dead process's code is refused with; or an AbortError that its `ctx.signal` caused. */
function isRefusal(error: unknown, pid: Pid): boolean {
  try {
    const cause = error instanceof Error && error.name === "AbortError" ? error.cause : error;
    return cause instanceof ProcessExitedError && cause.pid === pid;
  } catch {
    return false;
  }
}
