// One process watching another. Monitors are one-way and stack: each has its own identity and its own DOWN.

import type { Pid } from "./pid.js";

/** Identifies one monitor: compare it with `===` with the `ref` of a DOWN, and give it to `demonitor`. */
export class Monitor {
  /** Number within the watcher's node. */
  readonly id: number;
  readonly watcher: Pid;
  readonly target: Pid;
  /** @internal */
  constructor(id: number, watcher: Pid, target: Pid) {
    this.id = id;
    this.watcher = watcher;
    this.target = target;
  }

  toString(): string {
    return `<monitor ${this.id} of ${this.target}>`;
  }
}
