// The errors of the connection of a cluster.

import { SignalboxError } from "../../process/errors.js";
import { showCause } from "../../process/show.js";

/**
 * A system could not join a cluster. No server could be reached, or the server refused the connection.
 *
 * @remedy Read the cause. Start the server, or correct its address or the credentials in `connection`. Then join again.
 */
export class ClusterConnectError extends SignalboxError {
  static override readonly name: string = "ClusterConnectError";
  readonly code = "ERR_CLUSTER_CONNECT";
  /** @param label - the cluster and its servers */
  constructor(label: string, cause: unknown) {
    super(`${label} cannot be joined: ${showCause(cause)}`, { cause });
  }
}
