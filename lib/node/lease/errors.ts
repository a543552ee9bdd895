// Errors of leases.

import { SignalboxError } from "../../process/errors.js";

/**
 * The lease of a singleton has ended: it was lost or given back. This error is the reason of the signal `lost`.
 *
 * @remedy Stop the work that runs under the lease. The singleton starts again on the system that holds the lease next.
 */
export class LeaseLostError extends SignalboxError {
  static override readonly name: string = "LeaseLostError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_LEASE_LOST";
  /** The name of the singleton. */
  readonly lease: string;
  /** The token of the lease. It is no longer valid. */
  readonly token: number;

  /** The library creates these errors. */
  constructor(lease: string, token: number, why: string) {
    super(`the lease ${lease} with token ${token} ${why}`);
    this.lease = lease;
    this.token = token;
  }
}

/**
 * A bucket of JetStream cannot keep leases. No server can be reached, the server is too old or has no JetStream, or the bucket has the wrong
 * settings.
 *
 * @remedy The message says what is wrong and what leases need. Update the server, enable JetStream, or name another bucket: `kvLeases` creates a bucket with the right settings.
 */
export class LeaseBucketError extends SignalboxError {
  static override readonly name: string = "LeaseBucketError";
  /** Stable across versions: match on this rather than on the text. */
  readonly code = "ERR_LEASE_BUCKET";

  /** The library creates these errors. */
  constructor(label: string, problem: string, cause?: unknown) {
    super(`${label} cannot keep leases: ${problem}`, { cause });
  }
}
