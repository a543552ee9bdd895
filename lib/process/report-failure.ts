// Reports of failures of processes: crashes that no process observed, and errors thrown during or after an exit.

import { ProcessExitedError } from "./errors.js";
import type { Kernel } from "./kernel.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import type { ExitReason } from "./reason.js";
import { crashReport, pathOf } from "./report.js";
import { showThrown } from "./show.js";

/**
 * Reports that a process ended abnormally and that no process observed the end. The report is built only if a sink or a
 * listener gets it.
 */
export function reportCrash(
  kernel: Kernel,
  process: Process,
  reason: ExitReason,
  lastMessage: unknown,
): void {
  const { reports, events } = kernel;
  const { pid } = process;
  kernel.shared?.listeners("read");
  const isPrinted = reports.admits("crash", process.parent?.id);
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
 * Reports an error that code of a process threw after the process ended, or while it terminated with another reason. A
 * refused effect is expected and is not reported.
 */
export function reportLate({ reports, events, shared }: Kernel, pid: Pid, error: unknown): void {
  if (isRefusal(error, pid)) return;
  shared?.listeners("read");
  if (events.wants.lateError) events.publish("lateError", { pid, error });
  if (!reports.admits("lateError", pid.process?.parent?.id)) return;
  const when = pid.process === undefined ? "after its exit" : "while it terminated";
  const text = `${pid} threw ${when}: ${showThrown(error)}`;
  reports.write({ level: "error", event: "lateError", pid, path: pathOf(pid), error, text });
}

let unownedWasReported = false;

/**
 * Reports that the host cannot say which process created a promise. Only the first system of a program that prints
 * reports does so. The report comes in a later turn, when the code that creates the system already holds the system.
 */
export function reportUnowned(kernel: Kernel): void {
  const fire = (): void => {
    if (unownedWasReported || !kernel.reports.admits("host")) return;
    unownedWasReported = true;
    const { name } = kernel.node;
    const text = `${name}: this host has no promise hooks (node:v8). An unhandled rejection ends no process here: the host handles it`;
    kernel.reports.write({ level: "warn", event: "host", path: name, text });
  };
  kernel.addTimer(0, { fire });
}

/**
 * Whether the error is the refusal of an operation of a dead process, or an AbortError that the process's `ctx.signal`
 * caused.
 */
function isRefusal(error: unknown, pid: Pid): boolean {
  try {
    const cause = error instanceof Error && error.name === "AbortError" ? error.cause : error;
    return cause instanceof ProcessExitedError && cause.pid === pid;
  } catch {
    return false;
  }
}
