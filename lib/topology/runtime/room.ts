// How a task of a bolt waits until the bolts that it emits to have room: before its next tuple, in the middle of a tuple, or
// between the steps of a generator.

import type { WatchedProcess } from "../../process/intercepted.js";
import type { Settler } from "../../process/interception.js";
import { exclude, include } from "../../process/one-or-many.js";
import type { Abandonable, Process } from "../../process/process.js";

/** A wait of a task for room. It ends with the task. */
export class RoomWait implements Abandonable, Settler {
  readonly promise: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;
  private readonly process: Process;
  private readonly waiters: Set<RoomWait>;

  /** @param waiters - the waits that end together */
  constructor(process: Process, waiters: Set<RoomWait>) {
    this.process = process;
    this.waiters = waiters;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    process.kernel.interception?.gate(process as WatchedProcess, "room", this);
    const { extras } = process;
    extras.waits = include(extras.waits, this);
    waiters.add(this);
  }

  /** There is room. */
  open(): void {
    this.close();
    this.resolve();
  }

  abandon(error: Error): void {
    this.close();
    this.reject(error);
  }

  private close(): void {
    this.waiters.delete(this);
    const { extras } = this.process;
    extras.waits = exclude(extras.waits, this);
  }
}
