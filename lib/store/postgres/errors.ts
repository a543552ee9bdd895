// Errors of stores on PostgreSQL.

import { StoreError } from "../errors.js";

/**
 * The server could not be reached for as long as an operation waits, or all connections were in use for so long. `known` says what became of the operation: `nothing` of it was
 * written, or it is `unknown`: the connection was lost after the commit had been sent, and the server could not be asked since.
 *
 * @remedy Find out why the server is away: the cause has the last error. The store goes on trying to connect, so repeat the operation
 * later. If the outcome is unknown, read the rows again first.
 */
export class StoreUnreachableError extends StoreError {
  static override readonly name: string = "StoreUnreachableError";
  override readonly code = "ERR_STORE_UNREACHABLE";
  /** How many milliseconds this operation waited. The outage may be longer. */
  readonly waitedMs: number;
  /** The known outcome of the operation. */
  readonly known: "nothing" | "unknown";
  constructor(label: string, waitedMs: number, known: "nothing" | "unknown", cause: unknown) {
    const outcome =
      known === "nothing"
        ? "nothing was written"
        : "the connection was lost during a commit, and whether it took place is unknown";
    const what =
      cause === undefined && known === "nothing"
        ? "had no free connection for this operation, which waited"
        : "could not be reached by this operation, which waited";
    super(`the store ${label} ${what} ${Math.round(waitedMs)} ms; ${outcome}`, { cause });
    this.waitedMs = waitedMs;
    this.known = known;
  }
}
