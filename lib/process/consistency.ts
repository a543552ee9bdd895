// Invariants of a whole system. Checking them costs too much for production: the simulator does, whenever nothing can run.

import { invariant } from "./invariant.js";
import type { Kernel } from "./kernel.js";
import { ExitWatch } from "./monitor.js";
import { includes, members } from "./one-or-many.js";
import type { Process } from "./process.js";
import { DEAD } from "./process-state.js";

/**
 * Checks what the rest of the floor relies on: links and monitors are known at both ends, a name has one holder, and each living
 * process is counted once.
 *
 * @throws InvariantError
 */
export function checkConsistency(kernel: Kernel): void {
  let alive = 0;
  for (let process = kernel.newest; process !== undefined; process = process.next) {
    alive++;
    invariant(process.state !== DEAD, "the list of processes holds living ones only");
    invariant(process.pid.process === process, "the pid of a living process leads to it");
    const name = process.rare?.name;
    invariant(
      name === undefined || kernel.names.isHeldBy(name, process),
      "a process holds the name that it has",
    );
    checkLinks(process);
    checkMonitors(process);
  }
  invariant(alive === kernel.population, "the population is the number of living processes");
}

/** A link to another node has its other end there. */
function checkLinks({ pid, links, kernel }: Process): void {
  for (const to of members(links)) {
    if (to.node !== kernel.node) continue;
    invariant(to.process !== undefined && includes(to.process.links, pid), "a link is known at both ends");
  }
}

function checkMonitors({ watching, watchers, kernel }: Process): void {
  for (const monitor of members(watching)) {
    if (monitor.target.node !== kernel.node) continue;
    const target = monitor.target.process;
    invariant(target !== undefined && includes(target.watchers, monitor), "a monitor is known to its target");
  }
  for (const monitor of members(watchers)) {
    if (monitor instanceof ExitWatch || monitor.watcher.node !== kernel.node) continue;
    const watcher = monitor.watcher.process;
    invariant(
      watcher !== undefined && includes(watcher.watching, monitor),
      "a monitor is known to its watcher",
    );
  }
}
