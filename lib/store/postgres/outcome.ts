// Commits whose answer was lost. Each transaction that the store commits leaves a row under an id of its own. When the connection
// breaks between COMMIT and its answer, another connection writes the same row: if it is there already, the transaction was committed;
// if not, the transaction has not been, and can never be, because its row is taken.

import type { Environment } from "../../process/environment.js";
import type { Catalog } from "./catalog.js";
import { type Connection, ConnectionLostError, isRepeatable } from "./connection.js";
import { StoreUnreachableError } from "./errors.js";
import type { Pool } from "./pool.js";

/** Rows of processes that ended without removing theirs stay for a week. */
export const OUTCOME_MS: number = 7 * 24 * 60 * 60 * 1000;

/** Most ids that wait to be removed: more are left to the next start. */
const MOST_SPENT = 1_000;

export class Outcomes {
  readonly #catalog: Catalog;
  readonly #environment: Environment;
  readonly #label: string;
  readonly #unreachableMs: number;
  readonly #prefix: string;
  #number = 0;
  #spent: string[] = [];

  constructor(catalog: Catalog, environment: Environment, label: string, unreachableMs: number) {
    this.#catalog = catalog;
    this.#environment = environment;
    this.#label = label;
    this.#unreachableMs = unreachableMs;
    this.#prefix = environment.id();
  }

  /** An id for a transaction. */
  next(): string {
    return `${this.#prefix}/${++this.#number}`;
  }

  /** The writer of this transaction knows what became of it. */
  spend(id: string): void {
    if (this.#spent.length < MOST_SPENT) this.#spent.push(id);
  }

  /** Ids whose rows can be removed; they are not given again. */
  spent(): string[] {
    const { length } = this.#spent;
    return length === 0 ? this.#spent : this.#spent.splice(0, length);
  }

  /**
   * Commits the transaction that has left the row `id`, and finds out whether it was committed when the answer is lost.
   *
   * @returns false: it was rolled back, and may be repeated
   * @throws StoreUnreachableError when that could not be found out
   */
  async commit(connection: Connection, id: string, pool: Pool): Promise<boolean> {
    let cause: unknown;
    try {
      const [answer] = await connection.send([{ text: "commit", prepared: true }]);
      if (answer?.done !== "COMMIT") return false;
      this.spend(id);
      return true;
    } catch (error) {
      if (!(error instanceof ConnectionLostError)) throw error;
      cause = error;
    }
    return this.#find(id, pool, cause);
  }

  async #find(id: string, pool: Pool, cause: unknown): Promise<boolean> {
    const since = this.#environment.now();
    const deadline = since + this.#unreachableMs;
    let last = cause;
    for (let left = this.#unreachableMs; left > 0; left = deadline - this.#environment.now())
      try {
        const count = await pool.use(async (connection) => {
          const [answer] = await connection.send([this.#catalog.settle(id)]);
          return answer?.count;
        }, left);
        this.spend(id);
        return count === 0;
      } catch (error) {
        // A lost connection again, or the transaction still holds its row.
        last = error;
        if (
          !(
            error instanceof ConnectionLostError ||
            error instanceof StoreUnreachableError ||
            isRepeatable(error)
          )
        )
          break;
      }
    throw new StoreUnreachableError(this.#label, this.#environment.now() - since, "unknown", last);
  }
}
