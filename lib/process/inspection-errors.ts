// The errors of inspection.

import { SignalboxError } from "./errors.js";
import type { Pid } from "./pid.js";
import { show } from "./show.js";

/**
 * The pid belongs to a process of another node. Inspection reaches the processes of its own system only.
 *
 * @remedy Inspect the process in the system in which it runs.
 */
export class OtherNodeError extends SignalboxError {
  static override readonly name: string = "OtherNodeError";
  readonly code = "ERR_OTHER_NODE";
  /** The process. */
  readonly pid: Pid;
  constructor(pid: Pid, node: string) {
    super(`${pid} runs on the node ${pid.node.name}; inspect it there, not from ${node}`);
    this.pid = pid;
  }
}

/**
 * Code of a process inspects its own process. The answer would come only after that code has ended, so code that awaits it would
 * wait for itself.
 *
 * @remedy Read the state directly. Let another process, or code outside of all processes, suspend or swap this one.
 */
export class InspectSelfError extends SignalboxError {
  static override readonly name: string = "InspectSelfError";
  readonly code = "ERR_INSPECT_SELF";
  constructor(pid: Pid, what: string) {
    super(`${pid} asked for ${what} of itself; the answer would come only after the code that waits for it`);
  }
}

/**
 * A formatter of a state threw, or the state could not be read. The process is unharmed. `cause` is what was thrown.
 *
 * @remedy Mend the `format` of the definition or of the request: it must cope with every state.
 */
export class FormatError extends SignalboxError {
  static override readonly name: string = "FormatError";
  readonly code = "ERR_FORMAT";
  constructor(pid: Pid, cause: unknown) {
    super(`the state of ${pid} could not be formatted: ${show(cause)}`, { cause });
  }
}

/**
 * The state has more parts than an inspector copies. The process is unharmed.
 *
 * @remedy Ask for what you need of it: `state({ format: (state) => state.orders.size })`. Or raise `maxParts`.
 */
export class StateTooLargeError extends SignalboxError {
  static override readonly name: string = "StateTooLargeError";
  readonly code = "ERR_STATE_TOO_LARGE";
  /** The process. */
  readonly pid: Pid;
  /** Parts that are copied at most. */
  readonly maxParts: number;
  constructor(pid: Pid, maxParts: number) {
    super(
      `the state of ${pid} has more than ${maxParts} parts; ask for a part of it with \`format\`, or raise \`maxParts\``,
    );
    this.pid = pid;
    this.maxParts = maxParts;
  }
}

/**
 * The process cannot take over the definition: it runs no definition at all, one of another kind, or another one than `from`
 * says. The process goes on as before.
 *
 * @remedy Swap a server for a server. A function body and plain callbacks cannot be swapped: restart them.
 */
export class NotSwappableError extends SignalboxError {
  static override readonly name: string = "NotSwappableError";
  readonly code = "ERR_NOT_SWAPPABLE";
  constructor(pid: Pid, why: string) {
    super(`${pid} ${why}; it goes on as before`);
  }
}

/**
 * The migration of a swap threw. The process goes on with the old definition and the old state. `cause` is what was thrown.
 *
 * @remedy Mend the migration. It must not change the old state: the old definition needs it when the migration fails.
 */
export class SwapError extends SignalboxError {
  static override readonly name: string = "SwapError";
  readonly code = "ERR_SWAP";
  constructor(pid: Pid, cause: unknown) {
    super(`the migration of ${pid} failed, so the old definition goes on: ${show(cause)}`, { cause });
  }
}
