// The errors of threads that have a system of their own.

import { SignalboxError } from "../../process/errors.js";

/**
 * The event loop of a thread was blocked for longer than `hungMs`. The thread was ended, and is started again.
 *
 * @remedy Look for an endless loop in the programs of the thread. Give long computations pauses, or raise `hungMs`.
 */
export class ThreadHungError extends SignalboxError {
  static override readonly name: string = "ThreadHungError";
  readonly code = "ERR_THREAD_HUNG";
  /** URL of the module. */
  readonly file: string;
  constructor(file: string, hungMs: number) {
    super(`a thread of ${file} did not turn its event loop for ${hungMs} ms; it was ended`);
    this.file = file;
  }
}
