// Sums executions up that have ended long ago, and removes their rows, in write sets that are small: a commit of the work at hand never
// waits for a large one. The totals are committed before the first row goes, and the mark that there is something to remove goes behind
// the last one. So a host that dies in between has lost nothing, and the next one goes on.

import { type Retention, checkRetention as retentionOf } from "../../host/retention.js";
import type { Duration } from "../../process/duration.js";
import {
  type AnyRow,
  ConflictError,
  type Store,
  type Table,
  type Value,
  type Write,
} from "../../store/index.js";
import { decodeEntry, type LineageEntry } from "../ledger/lineage.js";
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

/**
 * How long the rows of executions that have ended are kept: lineage, dead letters, kept values, what adapters remember. Then they are
 * summed up by route and removed; the execution itself stays, with its counts and totals. Rows without a limit are kept for ever.
 */
export interface PipelineRetentionOptions {
  /** How long those of executions that completed are kept. */
  readonly completed?: Duration;
  /** How long those of executions that failed are kept. */
  readonly failed?: Duration;
  /** How long those of executions that were cancelled are kept. */
  readonly cancelled?: Duration;
  /** Most ended executions whose rows are kept. Beyond it, those that ended first are summed up. */
  readonly most?: number;
  /** How often the host looks for executions to sum up. Default 10 minutes; first when it starts. */
  readonly every?: Duration;
}

/** A retention, checked. */
export type PipelineRetention = Retention<string>;

/** @throws OptionError */
export function checkRetention(options: PipelineRetentionOptions): PipelineRetention {
  return retentionOf(options, ["completed", "failed", "cancelled"]);
}

/** The totals of a route in an execution whose history was summed up. */
export interface RouteTotals {
  /** The name of the route. */
  readonly route: string;
  /** Messages that it has settled, dead letters included. */
  readonly in: number;
  /** Messages that it has published. */
  readonly out: number;
  /** Messages that became dead letters. */
  readonly dead: number;
  /** Milliseconds that its adapters took for them, in the attempts that ended them. */
  readonly tookMs: number;
  /** The longest time of one message. */
  readonly longestMs: number;
}

type RouteSums = { -readonly [K in keyof RouteTotals]: RouteTotals[K] };

/** Adds entries up by route. */
class Totals {
  readonly #routes = new Map<string, RouteSums>();

  add({ route, status, children, calls }: LineageEntry): void {
    // No route took it.
    if (route === "") return;
    const sums = this.#routes.get(route) ?? { route, in: 0, out: 0, dead: 0, tookMs: 0, longestMs: 0 };
    this.#routes.set(route, sums);
    const tookMs = calls.reduce((sum, call) => sum + call.tookMs, 0);
    sums.in++;
    sums.out += children;
    if (status === "dead") sums.dead++;
    sums.tookMs += tookMs;
    sums.longestMs = Math.max(sums.longestMs, tookMs);
  }

  /** By the names of the routes. */
  get routes(): readonly RouteTotals[] {
    return [...this.#routes.values()].sort((a, b) => (a.route < b.route ? -1 : 1));
  }
}
