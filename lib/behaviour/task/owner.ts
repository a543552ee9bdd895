// The owner of a task starts it, and may wait for it. It is a process, or code outside of all processes.

import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { runningOwner } from "../../process/origin.js";
import type { Process } from "../../process/process.js";
import { ProcessSystem } from "../../process/system.js";
import { TaskOwnerError } from "./errors.js";

/** The owner of tasks: the `ctx` of a process, or the system, for code outside of all processes. */
export type TaskOwner = Context<never> | ProcessSystem;

export interface Owner {
  readonly kernel: Kernel;
  /** Undefined for code outside of all processes. */
  readonly process: Process | undefined;
}

/** @throws OptionError, or ProcessExitedError when the process has exited */
export function ownerOf(given: TaskOwner): Owner {
  if (given instanceof ProcessSystem) return { kernel: given.kernel, process: undefined };
  const process = given?.self?.process;
  if (process !== undefined) return { kernel: process.kernel, process };
  if (typeof given?.alive === "boolean") throw given.signal.reason;
  throw new OptionError("owner", given, "the ctx of a process, or a System");
}

/**
 * Refuses a wait by another process, as far as the host can tell whose code runs.
 *
 * @throws TaskOwnerError
 */
export function checkOwner(what: string, { process }: Owner): void {
  const running = runningOwner();
  if (running === undefined || !("node" in running) || running === process?.pid) return;
  throw new TaskOwnerError(what, String(process?.pid ?? "code outside of all processes"), String(running));
}
