// Removing flows that have ended, with all that belongs to them, page by page. Write sets are small: a group commit never waits for a
// large one.
//
// First the rows of a page go, and in the same write set a mark comes for each that says what is left of it. Then journal, mail and events
// of all of them go together, or piece by piece where a flow has many, and the marks last. A host that dies in between leaves marks, and the next one goes on. Numbers are never used
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
import { wholeClock } from "../../store/whole-clock.js";
import { blobs, release, releaseAll } from "../journal/blobs.js";
import { rowIs } from "../journal/changes.js";
import { events, type FlowRow, flows, isEnded, journal, mail, remains } from "../journal/tables.js";
import { checkStatuses } from "./flow-query.js";
import { ENDED_STATUSES, type FlowPruneOptions, type FlowStatus } from "./operations.js";

/** The limits of removals. */
export const REMOVAL_LIMITS: {
  /** Most rows that one write set removes. */
  readonly rows: number;
  /** Flows that are looked at at a time. */
  readonly page: number;
  /** Most flows that are removed together. */
  readonly together: number;
  /** A flow with so many rows of one kind is removed by itself. */
  readonly large: number;
} = { rows: 500, page: 500, together: 200, large: 50 };

/** Where the rows of a flow are, and what their index begins with. */
const BELONGINGS: readonly (readonly [table: Table, index: string, of: (flow: number) => string | number])[] =
  [
    [journal, "flow", (flow) => flow],
    [mail, "id", (flow) => flow],
    [events, "flow", (flow) => flow],
    [blobs, "owner", (flow) => `journal/${flow}`],
    [blobs, "owner", (flow) => `flow/${flow}`],
  ];

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
    return (await this.#removeAll([row])) === 1;
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
    let page: FlowRow[] = [];
    for await (const row of this.#endedBefore(before)) {
      if (removed >= most || signal?.aborted) return removed;
      if (ENDED_STATUSES.includes(row.status as FlowStatus) && chosen(row)) page.push(row);
      if (page.length < Math.min(REMOVAL_LIMITS.together, most - removed)) continue;
      removed += await this.#removeAll(page);
      page = [];
    }
    return signal?.aborted ? removed : removed + (await this.#removeAll(page.slice(0, most - removed)));
  }

  /** Removes the flows of a page that no other flow needs. Returns how many. */
  async #removeAll(page: readonly FlowRow[]): Promise<number> {
    const unused = await this.#unused(page);
    if (unused.length === 0) return 0;
    if (await this.#mark(unused)) {
      await this.#clear(unused.map(({ number }) => number));
      return unused.length;
    }
    if (unused.length === 1) return 0;
    // One of them has changed meanwhile. The others are removed all the same.
    let removed = 0;
    for (const row of unused) removed += await this.#removeAll([row]);
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
          index: "finished",
          prefix: [finished],
          after: last.number,
          limit,
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
      await this.#clear(left.map(({ flow }) => flow));
      after = (left.at(-1) as { readonly flow: number }).flow;
    }
  }

  /** The flows whose peers have all been notified of their end, and whose parent cannot ask for their result. */
  async #unused(page: readonly FlowRow[]): Promise<FlowRow[]> {
    const told = page.filter(({ due, finished }) => finished === null || due === null);
    const parents = [...new Set(told.flatMap(({ parent }) => (parent === null ? [] : [parent])))];
    if (parents.length === 0) return told;
    const found = await this.#store.get(
      flows,
      parents.map((parent) => [parent]),
    );
    const running = new Set(found.flatMap((row) => (row === undefined || isEnded(row) ? [] : [row.number])));
    return told.filter(({ parent }) => parent === null || !running.has(parent));
  }

  async #mark(rows: readonly FlowRow[]): Promise<boolean> {
    const at = await wholeClock(this.#store);
    try {
      await this.#store.commit({
        expect: rows.map((row) => rowIs(row, { status: row.status, holder: row.holder })),
        writes: rows.flatMap(({ number, id, input }): Write[] => [
          { type: "delete", table: flows, key: [number] },
          // A new flow may have the id, and a large input of its own under it, at once.
          ...(release(input) === undefined ? [] : [releaseAll(`input/${id}`)]),
          { type: "put", table: remains, row: { flow: number, at } },
        ]),
      });
      return true;
    } catch (error) {
      // Another operation retries it, or removes it as well.
      if (error instanceof ConflictError) return false;
      throw error;
    }
  }

  /** Removes what is left of flows whose rows are gone. */
  async #clear(cleared: readonly number[]): Promise<void> {
    const { rows: most, large: limit } = REMOVAL_LIMITS;
    const found = await Promise.all(
      BELONGINGS.map(([table, index, of]) =>
        Promise.all(
          cleared.map(
            (flow) => this.#store.scan(table, { index, prefix: [of(flow)], limit }) as Promise<AnyRow[]>,
          ),
        ),
      ),
    );
    const writes: Write[] = [];
    for (const [i, [table, index, of]] of BELONGINGS.entries())
      for (const [j, rows] of (found[i] as AnyRow[][]).entries())
        if (rows.length === limit) await this.#clearTable(table, index, of(cleared[j] as number));
        else for (const row of rows) writes.push(removal(table, row));
    for (const flow of cleared) writes.push({ type: "delete", table: remains, key: [flow] });
    for (let at = 0; at < writes.length; at += most)
      await this.#store.commit({ writes: writes.slice(at, at + most) });
  }

  async #clearTable(table: Table, index: string, of: string | number): Promise<void> {
    for (;;) {
      const rows: AnyRow[] = await this.#store.scan(table, {
        index,
        prefix: [of],
        limit: REMOVAL_LIMITS.rows,
      });
      if (rows.length > 0) await this.#store.commit({ writes: rows.map((row) => removal(table, row)) });
      if (rows.length < REMOVAL_LIMITS.rows) return;
    }
  }
}

function removal(table: Table, row: AnyRow): Write {
  return { type: "delete", table, key: table.key.map((column) => row[column] as Value), blind: true };
}
