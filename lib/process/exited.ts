// Waiting for the end of a process from outside of all processes.

import { OptionError } from "./errors.js";
import type { Settler } from "./interception.js";
import type { Kernel } from "./kernel.js";
import { Pid } from "./pid.js";
import { type ExitReason, NOPROC } from "./reason.js";

/** The reason `pid` ends with; `noproc` when it does not run here. The wait hangs on the process itself. */
export function waitForExit(kernel: Kernel, pid: Pid, signal: AbortSignal | undefined): Promise<ExitReason> {
  return new Promise((resolve, reject) => {
    if (!(pid instanceof Pid)) throw new OptionError("pid", pid, "a pid");
    signal?.throwIfAborted();
    if (kernel.stopped) {
      resolve(NOPROC);
      return;
    }
    const ends: Settler = { resolve, reject };
    kernel.interception?.gate(undefined, "an exit", ends);
    const onAbort = (): void => {
      kernel.links.unwatch(watch);
      ends.reject?.(signal?.reason);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const release = (): void => signal?.removeEventListener("abort", onAbort);
    const watch = kernel.links.watch(
      pid,
      (reason) => {
        release();
        ends.resolve?.(reason as never);
      },
      (error) => {
        release();
        ends.reject?.(error);
      },
    );
  });
}
