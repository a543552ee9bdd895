// How a task of a bolt waits until the bolts that it emits to have buffer space: before its next tuple, in the middle of a
// tuple, or between the steps of a generator.

import type { WatchedProcess } from "../../process/intercepted.js";
import type { Settler } from "../../process/interception.js";
import { exclude, include } from "../../process/one-or-many.js";
import type { Abandonable, Process } from "../../process/process.js";

/** A wait of a task for buffer space. It ends with the task. */
export class BufferWait implements Abandonable, Settler {
  readonly promise: Promise<void>;
  resolve!: () => void;
  reject!: (error: unknown) => void;
  readonly #process: Process;
  readonly #waits: Set<BufferWait>;

  /** @param waits - the waits that end together */
  constructor(process: Process, waits: Set<BufferWait>) {
    this.#process = process;
    this.#waits = waits;
    this.promise = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    process.kernel.interception?.gate(process as WatchedProcess, "buffer space", this);
    const { extras } = process;
    extras.waits = include(extras.waits, this);
    waits.add(this);
  }

  /** There is buffer space. */
  end(): void {
    this.#close();
    this.resolve();
  }

  abandon(error: Error): void {
    this.#close();
    this.reject(error);
  }

  #close(): void {
    this.#waits.delete(this);
    const { extras } = this.#process;
    extras.waits = exclude(extras.waits, this);
  }
}
