// One process watching another. Monitors are one-way and stack: each has its own identity and its own DOWN.

import type { Pid } from "./pid.js";
import type { ExitReason } from "./reason.js";

/** Identifies one monitor: compare it with `===` with the `ref` of a DOWN, and give it to `demonitor`. */
export class Monitor {
  /** Number within the watcher's node. */
  readonly id: number;
  /** The process that watches. */
  readonly watcher: Pid;
  /** The process that is watched. */
  readonly target: Pid;
  /** @internal */
  constructor(id: number, watcher: Pid, target: Pid) {
    this.id = id;
    this.watcher = watcher;
    this.target = target;
  }

  /** A text for people. */
  toString(): string {
    return `<monitor ${this.id} of ${this.target}>`;
  }
}

/** Code outside of all processes that waits for the end of one: there is no process to tell. */
export class ExitWatch extends Monitor {
  readonly ended: (reason: ExitReason) => void;
  /** Called in place of `ended` when the system here stops first. */
  readonly lost: (error: Error) => void;
  constructor(
    id: number,
    outside: Pid,
    target: Pid,
    ended: (reason: ExitReason) => void,
    lost: (error: Error) => void,
  ) {
    super(id, outside, target);
    this.ended = ended;
    this.lost = lost;
  }
}
