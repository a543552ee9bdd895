// The processes that wait until a tuple of the topology is settled.

import type { Process } from "../../process/process.js";

export class Settlements {
  private readonly watchers: Set<Process> = new Set();

  /** Sends one message `settled` to this process when the next tuple is settled. */
  watch(process: Process): void {
    this.watchers.add(process);
  }

  /** A tuple was settled, or something else has changed that a watcher may wait for. */
  notify(): void {
    if (this.watchers.size === 0) return;
    const all = [...this.watchers];
    this.watchers.clear();
    for (const process of all) if (process.alive) process.deliver("settled");
  }
}
