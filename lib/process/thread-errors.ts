// The errors of worker threads: of those of pools, and of those with a system of their own.

import { SignalboxError } from "./errors.js";
import { show } from "./show.js";

/**
 * The file of a worker thread cannot be used: it is missing, it threw while it was loaded, it took too long, or it exports
 * nothing that can be run. `cause` is the error of the file.
 *
 * @remedy Check the URL: it names the compiled file, as in `new URL("./worker.js", import.meta.url)`. A
 * loader such as tsx does not reach threads: compile first. Import the file in a test.
 */
export class WorkerFileError extends SignalboxError {
  static override readonly name: string = "WorkerFileError";
  readonly code = "ERR_WORKER_FILE";
  /** URL of the worker file. */
  readonly file: string;
  constructor(file: string, why: string, cause?: unknown) {
    super(`the worker file ${file} ${why}`, cause === undefined ? undefined : { cause });
    this.file = file;
  }
}

/**
 * The thread of a worker ended by itself: its code called `process.exit`, left an error uncaught, or used more memory than its
 * limits allow. The exit reason of its process holds this error. `cause` is the error that ended the thread, if one did.
 *
 * @remedy Return from the function instead of calling `process.exit`; catch errors of timers and streams; raise `resourceLimits`.
 */
export class WorkerExitedError extends SignalboxError {
  static override readonly name: string = "WorkerExitedError";
  readonly code = "ERR_WORKER_EXITED";
  /** URL of the worker file. */
  readonly file: string;
  /** The exit code of the thread. Undefined when an error ended it. */
  readonly exitCode: number | undefined;
  constructor(file: string, exitCode: number | undefined, cause: unknown) {
    const how = exitCode === undefined ? `was ended by ${show(cause)}` : `exited with code ${exitCode}`;
    super(`a worker of ${file} ${how}`, exitCode === undefined ? { cause } : undefined);
    this.file = file;
    this.exitCode = exitCode;
  }
}
