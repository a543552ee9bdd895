// The end of a system whose machine loses power. Only a simulator needs it: in production the machine takes its code with it.

import type { InterceptedProcess } from "./interception.js";
import type { Kernel } from "./kernel.js";
import { ExitWatch } from "./monitor.js";
import { members } from "./one-or-many.js";
import { DEAD } from "./process-state.js";
import { KILLED, NOCONNECTION } from "./reason.js";
import { failRequests } from "./request.js";

/**
 * Ends a system as a power loss does. Its processes are dead at once: no `terminate` runs, no process is notified, no event is
 * emitted. Code outside of the system that waits for one of its processes gets `noconnection`.
 */
export function losePower(kernel: Kernel): void {
  const all = kernel.processes();
  kernel.stopped = true;
  kernel.newest = undefined;
  kernel.population = 0;
  // All are dead before the first wait ends, so the end of one reaches no other.
  for (const process of all) {
    process.state = DEAD;
    process.exitReason = KILLED;
    process.pid.process = undefined;
    process.next = undefined;
    process.previous = undefined;
    kernel.interception?.died(process as InterceptedProcess, KILLED);
    if (process.rare?.name !== undefined) kernel.names.release(process);
    if (process.rare?.groups !== undefined) kernel.groups.leaveAll(process);
  }
  for (const process of all) {
    failRequests(process, NOCONNECTION);
    for (const watch of members(process.watchers)) if (watch instanceof ExitWatch) watch.ended(NOCONNECTION);
    // A start by a process is that process's own affair, and it is dead, too.
    if (process.parent === undefined) kernel.notifyStart(process, { type: "failed", reason: NOCONNECTION });
    process.letGo();
  }
  kernel.close();
}
