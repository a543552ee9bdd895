// Faults between processes and actors of XState.

import { SignalboxError } from "../process/errors.js";
import { type ExitReason, formatReason } from "../process/reason.js";

/**
 * The process behind an actor of `fromPid` crashed or was killed. The machine that invoked the actor gets the error as its
 * `onError`.
 *
 * @remedy Match on `reason`. A supervisor restarts a crashed process; invoke it again by its name.
 */
export class PeerExitedError extends SignalboxError {
  static override readonly name: string = "PeerExitedError";
  readonly code = "ERR_PEER_EXITED";
  /** The exit reason of the process; `noproc` when the process did not run at all. */
  readonly reason: ExitReason;
  /** The library creates these errors. */
  constructor(to: string, reason: ExitReason) {
    super(`the process ${to} ended: ${formatReason(reason)}`, {
      cause: reason.type === "crash" ? reason.error : undefined,
    });
    this.reason = reason;
  }
}

/**
 * An actor of XState runs in no process of signalbox, so that it has no context and reaches no process.
 *
 * @remedy Start its machine with `system.start(fromXState(machine))` instead of `createActor(machine)`.
 */
export class NotHostedError extends SignalboxError {
  static override readonly name: string = "NotHostedError";
  readonly code = "ERR_NOT_HOSTED";
  /** The library creates these errors. */
  constructor(actor: string) {
    super(`the actor "${actor}" runs in no process of signalbox; start its machine with fromXState`);
  }
}
