// The error of a handle whose host has ended, and that no other host has followed.

import { type RequestFate, SignalboxError } from "../../process/errors.js";
import { type ExitReason, formatReason } from "../../process/reason.js";
import { classOfCode } from "../../store/error-classes.js";

/**
 * The host of a handle has ended, and no other host of its definition has started in its place: within 60 seconds, or before the
 * supervisor that could start one ended, too. `claimLost` says that the host had lost its claim: it was out of reach of its store for
 * longer than its lease, or
 * stood still. Nothing in the store is lost: hosts of other programs go on with it. `cause` is the error with which the host ended.
 *
 * @remedy Run hosts as children of a supervisor, which starts them again; handles go on by themselves then. With `request` other than
 * `withdrawn`, look first whether the operation took place before you repeat it.
 */
export class HostGoneError extends SignalboxError {
  static override readonly name: string = "HostGoneError";
  readonly code = "ERR_HOST_GONE";
  /** Why the last host ended. */
  readonly reason: ExitReason;
  /** The last host ended because it had lost its claim. */
  readonly claimLost: boolean;
  /** `withdrawn`: no host began with the request. `taken`: one had. `kept`: that is not known. */
  readonly request: RequestFate;
  /** @param what - the kind of host */
  constructor(what: string, reason: ExitReason, request: RequestFate) {
    const cause = reason.type === "crash" ? reason.error : undefined;
    const claimLost = isHostOver(cause);
    const how = claimLost ? "claim lost" : "it ended";
    super(
      `${what}: ${how}, and no other host of its definition has started in its place (${formatReason(reason)}); run hosts under a supervisor`,
      cause === undefined ? undefined : { cause },
    );
    this.reason = reason;
    this.claimLost = claimLost;
    this.request = request;
  }
}

/** Whether the store takes nothing more from this host: its claim is lost, or the store is closed. */
export function isHostOver(error: unknown): error is Error {
  return error instanceof SignalboxError && classOfCode(error.code) === "over";
}
