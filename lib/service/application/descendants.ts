// The processes below a root, and their names from there.

import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";

/** All living processes that `root` or a descendant of it has spawned, and `root` itself; the oldest first. */
export function descendants(kernel: Kernel, root: Pid): Process[] {
  kernel.shared?.listed();
  const known = new Set<Pid>([root]);
  // A process is younger than its parent, so that one pass finds all.
  return kernel.processes().filter(({ pid, parent }) => {
    if (pid !== root && (parent === undefined || !known.has(parent))) return false;
    known.add(pid);
    return true;
  });
}

/** The youngest descendant whose start has not ended: the part that a slow start waits for. */
export function notStarted(kernel: Kernel, root: Pid): Pid | undefined {
  return descendants(kernel, root).findLast(({ rare }) => rare?.onStart !== undefined)?.pid;
}

/** The labels from below `root` down to a process, such as `floor/clerk`; empty for the root. */
export function labelPath(pid: Pid, root: Pid): string {
  const labels: string[] = [];
  for (let up: Pid | undefined = pid; up !== undefined && up !== root; up = up.process?.parent)
    labels.unshift(up.label ?? String(up.id));
  return labels.join("/");
}
