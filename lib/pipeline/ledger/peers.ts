// How hosts that share an execution agree: which host reads which source, whether the execution is paused, and when all pending messages
// are held in batches, some on one host and some on another.
//
// A host that has nothing but batches says in the table `held` how many messages they hold. A host that sees that these are all pending ones
// processes its batches, if no other host holds any of a route further upstream. A count that is out of date makes a batch smaller than it
// could be, or lets it wait for the next look.

import { ConflictError, type Store } from "../../store/index.js";
import { MOST_SOURCES } from "./execution-watch.js";
import type { LedgerState } from "./ledger-state.js";
import type { LedgerLimits } from "./limits.js";
import type { Place } from "./step-writes.js";
import { type ExecutionRow, executions, executionTopic, held, messages, sources } from "./tables.js";

/** Messages that a host holds in batches that are not due. */
export interface HeldHere {
  readonly count: number;
  /** The place of the first route that holds some, upstream first. */
  readonly rank: number;
}

export class Peers {
  readonly #ledger: LedgerState;
  #isPaused: boolean | undefined;
  #areSourcesClosed = false;
  /** What this host has told others that it holds. Undefined: others know what the previous process told them. */
  #told: HeldHere | undefined;

  constructor(ledger: LedgerState) {
    this.#ledger = ledger;
  }

  get #isOver(): boolean {
    return this.#ledger.phase !== "running";
  }

  /** Frees what an earlier ledger of this execution had taken under the same claim, and did not give back. */
  static async anew(store: Store, { scope, claim }: Place, { readRows: limit }: LedgerLimits): Promise<void> {
    const free = { index: "holder", prefix: [claim.token, scope], limit, set: { holder: null }, claim };
    while ((await store.take(messages, free)).length === limit);
    while ((await store.take(sources, free)).length === limit);
  }

  /** Frees the sources that this host reads. */
  async leave(): Promise<void> {
    const { store, place } = this.#ledger;
    const { claim, scope } = place;
    const free = { index: "holder", prefix: [claim.token, scope], set: { holder: null }, claim };
    await store.take(sources, { ...free, limit: MOST_SOURCES });
    await store.commit({
      claim,
      writes: [{ type: "delete", table: held, key: [scope, claim.token] }],
      notify: [executionTopic(scope)],
    });
  }

  /**
   * The row of the execution was read: looks for the rest.
   *
   * @param mayTell - it is time to tell others what this host holds, if that has changed
   */
  async look(row: ExecutionRow, mayTell: boolean): Promise<void> {
    const isPaused = row.status === "paused";
    if (isPaused !== this.#isPaused) {
      this.#isPaused = isPaused;
      this.#ledger.options.listener.paused(isPaused);
    }
    if (!this.#areSourcesClosed) await this.#takeSources();
    if (!this.#isOver) await this.#compare(row.pending, mayTell);
  }

  async #takeSources(): Promise<void> {
    const { store, place, options } = this.#ledger;
    const { sources: known, payloads, listener } = options;
    const { scope, claim } = place;
    const rows = await store.scan(sources, { prefix: [scope], limit: MOST_SOURCES });
    const open = rows.filter((row) => row.open === 1);
    this.#areSourcesClosed = open.length === 0;
    for (const { name, holder } of open) {
      if (holder !== null || !known.includes(name) || this.#isOver) continue;
      const key = [scope, name];
      const isMine = await taken(
        store.commit({
          claim,
          expect: [{ table: sources, key, is: { holder: null, open: 1 } }],
          writes: [{ type: "update", table: sources, key, set: { holder: claim.token } }],
        }),
      );
      if (!isMine) continue;
      // As of now: the host that had it before may have given more since it was listed.
      const [row] = await store.get(sources, [key]);
      if (row === undefined || this.#isOver) continue;
      const checkpoint = row.checkpoint === null ? undefined : await payloads.load(row.checkpoint);
      listener.source(name, { given: row.given, checkpoint });
    }
  }

  async #compare(pending: number, mayTell: boolean): Promise<void> {
    const { store, place } = this.#ledger;
    if (this.#ledger.held.count > 0) {
      const rows = await store.scan(held, { prefix: [place.scope] });
      if (this.#isOver) return;
      const { count, rank } = this.#ledger.held;
      const others = rows.filter((row) => row.holder !== place.claim.token && row.count > 0);
      const all = others.reduce((sum, row) => sum + row.count, count);
      if (count > 0 && all === pending && others.every((row) => rank <= row.rank)) {
        this.#ledger.options.listener.onlyHeld();
        return;
      }
    }
    if (mayTell) await this.#tell();
  }

  /** Other hosts need no count while messages are in work here: these are pending, and in no batch. */
  async #tell(): Promise<void> {
    const { store, place, held: now, commits, handOut } = this.#ledger;
    // This host has taken nothing but what its batches hold.
    const isIdle = !commits.busy && handOut.taken === now.count;
    if (!isIdle || (this.#told?.count === now.count && this.#told.rank === now.rank)) return;
    const { scope, claim } = place;
    const key = [scope, claim.token];
    const isTold = await taken(
      store.commit({
        claim,
        expect: [{ table: executions, key: [scope], is: { ended: null } }],
        writes: [
          now.count === 0
            ? { type: "delete", table: held, key }
            : { type: "put", table: held, row: { scope, holder: claim.token, ...now } },
        ],
        notify: [executionTopic(scope)],
      }),
    );
    if (isTold) this.#told = now;
  }
}

/** False: an expectation did not hold. */
async function taken(commit: Promise<unknown>): Promise<boolean> {
  try {
    await commit;
    return true;
  } catch (error) {
    if (error instanceof ConflictError) return false;
    throw error;
  }
}
