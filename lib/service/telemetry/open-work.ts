// Spans of work that a process has begun. They end with it, however it ends.

import type { Process } from "../../process/process.js";

/** Work with a span that is open. */
export interface Abortable {
  ended(outcome: "aborted"): void;
}

/** The work of the processes of one system, beside their messages. */
export class OpenWork {
  readonly #open = new Map<Process, Set<Abortable>>();

  begun(by: Process, work: Abortable): void {
    const all = this.#open.get(by) ?? new Set();
    this.#open.set(by, all);
    all.add(work);
  }

  /** False: it had ended before. */
  ended(by: Process, work: Abortable): boolean {
    const all = this.#open.get(by);
    if (all?.delete(work) !== true) return false;
    if (all.size === 0) this.#open.delete(by);
    return true;
  }

  /** The process has ended. */
  processEnded(process: Process): void {
    for (const work of this.#open.get(process) ?? []) work.ended("aborted");
  }
}
