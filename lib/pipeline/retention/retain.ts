// Sums executions up that have ended long ago, and removes their rows, in write sets that are small: a commit of the work at hand never
// waits for a large one. The totals are committed before the first row goes, and the mark that there is something to remove goes behind
// the last one. So a host that dies in between has lost nothing, and the next one goes on.

import {
  type AnyRow,
  ConflictError,
  type Store,
  type Table,
  type Value,
  type Write,
} from "../../store/index.js";
import { decodeEntry } from "../ledger/lineage.js";
import {
  deadLetters,
  deadRecords,
  type ExecutionRow,
  executions,
  keptValues,
  lineage,
  memory,
  messages,
  outbox,
  sources,
} from "../ledger/tables.js";
import type { PipelineRetention } from "./options.js";
import { Totals } from "./totals.js";

/** The limits of a retention. */
export const RETENTION_LIMITS: {
  /** Most rows that one write set removes. */
  readonly rows: number;
  /** Rows that are read at a time. */
  readonly page: number;
} = { rows: 200, page: 500 };

const TABLES: readonly Table[] = [
  lineage,
  deadLetters,
  deadRecords,
  keptValues,
  memory,
  sources,
  // Left by executions that were cancelled or have failed.
  messages,
  outbox,
];

/** Sums up the executions that are due now. Returns how many. */
export async function retain(
  store: Store,
  { ages, most }: PipelineRetention,
  signal?: AbortSignal,
): Promise<number> {
  const now = await store.clock();
  let excess = (await store.count(executions, { index: "kept" })) - most;
  let summed = 0;
  for (const row of await endedFirst(store)) {
    if (signal?.aborted) break;
    const age = ages.get(row.status);
    const isOld = age !== undefined && (row.ended as number) <= now - age;
    // Rows stay until the end is announced; a removal that was begun is finished.
    if (row.unannounced !== null || !(isOld || excess > 0 || row.totals !== null)) continue;
    if (!(await sumUp(store, row))) continue;
    excess--;
    summed++;
  }
  return summed;
}

/** Executions whose rows are kept, in the order of their ends. */
function endedFirst(store: Store): Promise<ExecutionRow[]> {
  return store.scan(executions, { index: "kept", limit: MOST_AT_ONCE });
}

/** Executions that are looked at at a time. */
const MOST_AT_ONCE = 10_000;

/** False: another host does it, or it goes on. */
async function sumUp(store: Store, { number, totals, kept }: ExecutionRow): Promise<boolean> {
  if (totals === null) {
    const sums = JSON.stringify((await totalsOf(store, number)).routes);
    try {
      await store.commit({
        // A dead letter may have been put back since: then the execution goes on.
        expect: [{ table: executions, key: [number], is: { totals: null, kept } }],
        writes: [{ type: "update", table: executions, key: [number], set: { totals: sums } }],
      });
    } catch (error) {
      if (error instanceof ConflictError) return false;
      throw error;
    }
  }
  for (const table of TABLES) await clear(store, table, number);
  await store.commit({ writes: [{ type: "update", table: executions, key: [number], set: { kept: null } }] });
  return true;
}

async function totalsOf(store: Store, number: number): Promise<Totals> {
  const totals = new Totals();
  for (let after = ""; ; ) {
    const rows = await store.scan(lineage, { prefix: [number], after, limit: RETENTION_LIMITS.page });
    for (const { id, entry } of rows) totals.add(decodeEntry(id, entry));
    const last = rows.at(-1);
    if (last === undefined || rows.length < RETENTION_LIMITS.page) return totals;
    after = last.id;
  }
}

async function clear(store: Store, table: Table, number: number): Promise<void> {
  const { rows: limit } = RETENTION_LIMITS;
  for (;;) {
    const rows: AnyRow[] = await store.scan(table, { prefix: [number], limit });
    const keys = rows.map((row) => table.key.map((column) => row[column] as Value));
    if (rows.length > 0)
      await store.commit({ writes: keys.map((key): Write => ({ type: "delete", table, key })) });
    if (rows.length < limit) return;
  }
}
