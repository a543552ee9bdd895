// Pages of rows for people: the rows of several scans that pass a filter, in one order, with a place from which the next page goes on.

import type { Scan, Store } from "./store.js";
import type { Columns, RowOf, Table } from "./table.js";

/** Most rows that are read from the store at a time. */
const READ = 1_000;

/** The query of one page. */
export interface PageQuery<R, Place> {
  /** Most rows of the page. */
  readonly limit: number;
  /** Most rows that are looked at for it. */
  readonly examined: number;
  /** The place behind which it begins. */
  readonly after: Place | undefined;
  /** The scans behind a place. Each is in the order of the list, and the list is all of them together. */
  scans(after: Place | undefined): readonly Scan[];
  /** The order of the list. Not called for one scan. */
  compare(one: R, other: R): number;
  matches(row: R): boolean;
  /** Whether no row behind this one can match. */
  isPast(row: R): boolean;
  placeOf(row: R): Place;
}

/** A page, and the place behind which the next one begins. Undefined: there are no more. */
export interface RowPage<R, Place> {
  readonly rows: readonly R[];
  readonly next: Place | undefined;
}

/** Reads a page. It may be short, or empty, and still have a next. */
export async function readPage<C extends Columns, Place>(
  store: Store,
  table: Table<C>,
  query: PageQuery<RowOf<C>, Place>,
): Promise<RowPage<RowOf<C>, Place>> {
  const { limit, examined } = query;
  const rows: RowOf<C>[] = [];
  const most = Math.min(READ, limit);
  let { after } = query;
  for (let looked = 0; ; ) {
    const found = await readMerged(store, table, query, after, most);
    let last: RowOf<C> | undefined;
    for (const row of found) {
      if (query.isPast(row)) return { rows, next: undefined };
      last = row;
      if (query.matches(row)) rows.push(row);
      if (rows.length === limit) break;
    }
    if (last === undefined) return { rows, next: undefined };
    after = query.placeOf(last);
    looked += found.length;
    if (rows.length === limit || looked >= examined) return { rows, next: after };
    if (found.length < most) return { rows, next: undefined };
  }
}

async function readMerged<C extends Columns, Place>(
  store: Store,
  table: Table<C>,
  query: PageQuery<RowOf<C>, Place>,
  after: Place | undefined,
  limit: number,
): Promise<RowOf<C>[]> {
  const found = await Promise.all(query.scans(after).map((scan) => store.scan(table, { ...scan, limit })));
  if (found.length === 1) return found[0] as RowOf<C>[];
  return found
    .flat()
    .sort((one, other) => query.compare(one, other))
    .slice(0, limit);
}
