// Removing flows that have ended, with all that belongs to them, in small write sets: a group commit never waits for a large one.
//
// First the row goes, and in the same write set a mark comes that says what is left of it. Then journal, mail and events go, piece
// by piece, and the mark last. A host that dies in between leaves marks, and the next one goes on. Numbers are never used
// again, so a new flow may have the id at once.

import { duration } from "../../process/duration.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import {
  type AnyRow,
  ConflictError,
  type Store,
  type Table,
  type Value,
  type Write,
} from "../../store/index.js";
import { events, type FlowRow, flows, journal, mail, remains } from "../journal/tables.js";
import { blobs, release } from "../payload/blobs.js";
import { checkStatuses } from "./flow-query.js";
import { ENDED_STATUSES, type FlowPruneOptions, type FlowStatus } from "./operations.js";

/** The limits of removals. */
export const REMOVAL_LIMITS: {
  /** Most rows that one write set removes. */
  readonly rows: number;
  /** Flows that are looked at at a time. */
  readonly page: number;
} = { rows: 500, page: 500 };

/** @throws OptionError */
export function checkPrune(options: FlowPruneOptions): {
  readonly statuses: readonly FlowStatus[];
  readonly name: string | undefined;
  readonly olderThanMs: number;
  readonly keep: number;
} {
  only("", options, ["status", "name", "olderThanMs", "keep"]);
  const { name, olderThanMs = 0, keep = 0 } = options;
  if (typeof olderThanMs !== "number")
    throw new OptionError("olderThanMs", olderThanMs, "a number of milliseconds, 0 or more");
  return {
    statuses: checkStatuses("status", options.status, ENDED_STATUSES) ?? ENDED_STATUSES,
    name: name === undefined ? undefined : text("name", name),
    olderThanMs: duration("olderThanMs", olderThanMs),
    keep: count("keep", keep, 0),
  };
}

export class Removals {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * Removes a flow that has ended. False: its parent has not ended, and may ask for its result; or a host has still to tell others of
   * its end.
   */
  async remove(row: FlowRow): Promise<boolean> {
    if (await this.#isInUse(row)) return false;
    if (!(await this.#mark([row]))) return false;
    await this.#clear(row.number);
    return true;
  }

  /**
   * Removes flows that ended before a time, the oldest first. Gives how many.
   *
   * @param most - at most so many
   */
  async removeEnded(
    chosen: (row: FlowRow) => boolean,
    before: number,
    most: number = Number.POSITIVE_INFINITY,
    signal?: AbortSignal,
  ): Promise<number> {
    let removed = 0;
    for await (const row of this.#endedBefore(before)) {
      if (removed >= most || signal?.aborted) break;
      if (!ENDED_STATUSES.includes(row.status as FlowStatus) || !chosen(row)) continue;
      if (await this.remove(row)) removed++;
    }
    return removed;
  }

  /** Flows by the times of their ends. Any number of them may have ended in the same millisecond. */
  async *#endedBefore(below: number): AsyncGenerator<FlowRow, void, undefined> {
    const { page: limit } = REMOVAL_LIMITS;
    for (let after: number | undefined; ; ) {
      const scan = after === undefined ? {} : { after };
      const rows = await this.#store.scan(flows, { index: "finished", ...scan, below, limit });
      yield* rows;
      let last = rows.at(-1);
      if (rows.length < limit || last === undefined) return;
      const finished = last.finished as number;
      while (last !== undefined) {
        const same: FlowRow[] = await this.#store.scan(flows, {
          ...{ index: "finished", prefix: [finished], after: last.number, limit },
        });
        yield* same;
        last = same.at(-1);
      }
      after = finished;
    }
  }

  /** Removes what removals that were interrupted have left. */
  async finish(signal?: AbortSignal): Promise<void> {
    for (let after = 0; signal?.aborted !== true; ) {
      const left = await this.#store.scan(remains, { after, limit: REMOVAL_LIMITS.page });
      if (left.length === 0) return;
      for (const { flow } of left) {
        await this.#clear(flow);
        after = flow;
      }
    }
  }

  async #isInUse({ parent, due, finished }: FlowRow): Promise<boolean> {
    if (finished !== null && due !== null) return true;
    if (parent === null) return false;
    const [found] = await this.#store.get(flows, [[parent]]);
    return found !== undefined && !ENDED_STATUSES.includes(found.status as FlowStatus);
  }

  async #mark(rows: readonly FlowRow[]): Promise<boolean> {
    const at = await this.#store.clock();
    try {
      await this.#store.commit({
        expect: rows.map(({ number, status, holder }) => ({
          table: flows,
          key: [number],
          is: { status, holder },
        })),
        writes: rows.flatMap(({ number, input }): Write[] => [
          { type: "delete", table: flows, key: [number] },
          // A new flow may have the id, and large values of its own under it, at once.
          ...(release(input) === undefined ? [] : [release(input) as Write]),
          { type: "put", table: remains, row: { flow: number, at } },
        ]),
      });
      return true;
    } catch (error) {
      // Somebody retries it, or removes it as well.
      if (error instanceof ConflictError) return false;
      throw error;
    }
  }

  async #clear(flow: number): Promise<void> {
    await this.#clearTable(journal, "flow", flow);
    await this.#clearTable(mail, "id", flow);
    await this.#clearTable(events, "flow", flow);
    await this.#clearTable(blobs, "owner", `journal/${flow}`);
    await this.#clearTable(blobs, "owner", `flow/${flow}`);
    await this.#store.commit({ writes: [{ type: "delete", table: remains, key: [flow] }] });
  }

  async #clearTable(table: Table, index: string, of: string | number): Promise<void> {
    for (;;) {
      const rows: AnyRow[] = await this.#store.scan(table, {
        index,
        prefix: [of],
        limit: REMOVAL_LIMITS.rows,
      });
      const keys = rows.map((row) => table.key.map((column) => row[column] as Value));
      if (rows.length > 0)
        await this.#store.commit({ writes: keys.map((key): Write => ({ type: "delete", table, key })) });
      if (rows.length < REMOVAL_LIMITS.rows) return;
    }
  }
}
