// Errors of leases.

import { SignalboxError } from "../../process/errors.js";

/**
 * The lease of a singleton is over: it was lost, or given back. This is the reason of its signal `lost`.
 *
 * @remedy Stop what runs under the lease. The singleton is started again where the lease is held.
 */
export class LeaseLostError extends SignalboxError {
  static override readonly name: string = "LeaseLostError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_LEASE_LOST";
  /** The name of the singleton. */
  readonly lease: string;
  /** The token that is not valid any more. */
  readonly token: number;

  /** The library creates these errors. */
  constructor(lease: string, token: number, why: string) {
    super(`the lease ${lease} with token ${token} ${why}`);
    this.lease = lease;
    this.token = token;
  }
}
