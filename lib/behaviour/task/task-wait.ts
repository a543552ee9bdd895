// The owner waiting for its task: a request without a message. Its timeout and its AbortSignal may end the task too.

import { delay } from "../../process/options.js";
import { Request } from "../../process/request.js";
import type { Owner } from "./owner.js";

/** What the wait tells the task. */
export interface Waited {
  readonly pid: { toString(): string };
  gaveUp(wait: TaskWait, timeoutMs: number | undefined, reason: unknown): void;
}

export class TaskWait extends Request<unknown> {
  readonly #task: Waited;

  constructor(task: Waited) {
    super();
    this.#task = task;
  }

  /** Waits in the name of the owner. @throws OptionError */
  arm({ kernel, process }: Owner, timeoutMs: number, signal: AbortSignal | undefined): void {
    this.begin(kernel, process, String(this.#task.pid), undefined, delay("timeoutMs", timeoutMs, 0, true));
    if (signal === undefined) return;
    kernel.shared?.signals();
    if (signal.aborted) this.aborted(signal.reason);
    else this.obey(signal);
  }

  override fire(): void {
    this.#task.gaveUp(this, this.timeoutMs, undefined);
  }

  override aborted(reason: unknown): void {
    this.#task.gaveUp(this, undefined, reason);
  }
}
