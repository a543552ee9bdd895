// Which job has the thread, in memory that outlives the thread: its owner reads there whose fault the end of the thread was.

import type { Kernel } from "../../process/kernel.js";
import { type ContinuationNames, origin } from "../../process/origin.js";
import type { Pid } from "../../process/pid.js";
import { isThenable } from "../../process/thenable.js";

/** Nobody, or code that has no name: that of a timer, say. */
const NOBODY = 0;

/** Notes the number of the job whose code has the thread. Code that never gives the thread back, or ends it, leaves its number there. */
class JobBoard implements ContinuationNames {
  readonly #memory: Int32Array;
  /** The jobs that wait for something: their code goes on after an `await`. */
  readonly #waiting = new Set<object>();

  constructor(memory: Int32Array) {
    this.#memory = memory;
  }

  /** Runs the code of a job. */
  async run(pid: Pid<never>, code: () => unknown): Promise<unknown> {
    this.#note(pid.id);
    let result: unknown;
    try {
      result = code();
    } finally {
      this.#note(NOBODY);
    }
    if (!isThenable(result)) return result;
    this.#waiting.add(pid);
    // Another user of the names has more use for them. Without the names, such a job has none after an `await`.
    origin.names ??= this;
    try {
      return await result;
    } finally {
      this.#waiting.delete(pid);
      if (this.#waiting.size === 0 && origin.names === this) origin.names = undefined;
    }
  }

  made(): void {
    // Only continuations matter.
  }

  continues(_promise: object, owner: object | undefined): void {
    if (owner !== undefined && this.#waiting.has(owner)) this.#note((owner as Pid).id);
  }

  rests(): void {
    this.#note(NOBODY);
  }

  #note(id: number): void {
    Atomics.store(this.#memory, 0, id);
  }
}

const boards = new WeakMap<Kernel, JobBoard>();

/** From now on the jobs of this system are noted in this memory, one number. */
export function noteJobs(kernel: Kernel, memory: Int32Array): void {
  boards.set(kernel, new JobBoard(memory));
}

/** Runs the code of a job. */
export function runNoted(kernel: Kernel, pid: Pid<never>, code: () => unknown): unknown {
  const board = boards.get(kernel);
  return board === undefined ? code() : board.run(pid, code);
}
