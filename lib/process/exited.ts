// Waiting for the end of a process from outside of all processes.

import { unwatchAbort, watchAbort } from "./abort.js";
import { OptionError } from "./errors.js";
import type { Settler } from "./interception.js";
import type { Kernel } from "./kernel.js";
import { withMethod } from "./options.js";
import { Pid } from "./pid.js";
import { type ExitReason, NOPROC } from "./reason.js";

/** Waits for the exit reason of `pid`: `noproc` when it does not run here. */
export function waitForExit(kernel: Kernel, pid: Pid, signal: AbortSignal | undefined): Promise<ExitReason> {
  return new Promise((resolve, reject) => {
    if (!(pid instanceof Pid)) throw new OptionError("pid", pid, "a pid");
    if (signal !== undefined) kernel.shared?.signals();
    if (signal !== undefined)
      withMethod("signal", signal, "throwIfAborted", "an AbortSignal").throwIfAborted();
    kernel.shared?.stopping("read");
    if (kernel.stopped) {
      resolve(NOPROC);
      return;
    }
    const ends: Settler = { resolve, reject };
    kernel.interception?.gate(undefined, "an exit", ends, pid);
    const waiter = {
      aborted: (reason: unknown): void => {
        kernel.links.unwatch(watch);
        goOn(() => ends.reject?.(reason));
      },
    };
    const goOn = (resume: () => void): void => {
      if (signal !== undefined) {
        kernel.shared?.signals();
        unwatchAbort(signal, waiter);
      }
      kernel.scheduler.resume({ owner: undefined, resume });
    };
    if (signal !== undefined) watchAbort(signal, waiter);
    const watch = kernel.links.watch(
      pid,
      (reason) => goOn(() => ends.resolve?.(reason as never)),
      (error) => goOn(() => ends.reject?.(error)),
    );
  });
}
