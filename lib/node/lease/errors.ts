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

/**
 * A bucket of JetStream cannot keep leases: no server can be reached, the server is too old or has no JetStream, or the bucket is set up in
 * another way.
 *
 * @remedy The message says what is wrong and what leases need. Update the server, enable JetStream, or use another bucket: `kvLeases` makes one that is right.
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
