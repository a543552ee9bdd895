// Rows of messages in the order of their ids, a page at a time: live messages, dead letters, and the records of these.

import type { Store } from "../../store/index.js";
import type { Columns, RowOf, Table } from "../../store/table.js";

/** Rows that are read at a time. */
const PAGE = 1_000;

type Prefix = readonly (string | number)[];

/** The place of a record behind its prefix. */
export interface RecordPlace {
  readonly id: string;
  readonly turn: number;
}

/** The rows with a prefix of the key, which the id follows. @param after - only those behind this id */
export async function* pagesOf<C extends Columns>(
  store: Store,
  table: Table<C>,
  prefix: Prefix,
  after?: string,
): AsyncGenerator<RowOf<C>, void, undefined> {
  for (let last = after; ; ) {
    const bounds = last === undefined ? {} : { after: last };
    const rows = await store.scan(table, { prefix, ...bounds, limit: PAGE });
    for (const row of rows) {
      yield row;
      last = row.id as string;
    }
    if (rows.length < PAGE) return;
  }
}

/**
 * The records of dead letters with a prefix of the key, which id and turn follow.
 *
 * @param id - only those of this message
 * @param behind - only those behind this one
 */
export async function* recordsIn<C extends Columns>(
  store: Store,
  table: Table<C>,
  prefix: Prefix,
  id: string | undefined,
  behind: RecordPlace | undefined,
): AsyncGenerator<RowOf<C>, void, undefined> {
  const one = id ?? behind?.id;
  // The rest of one message first, then those behind it.
  if (one !== undefined) {
    const rest = behind?.id === one ? { after: behind.turn } : {};
    yield* await store.scan(table, { prefix: [...prefix, one], ...rest });
  }
  if (id !== undefined) return;
  for (let after = behind?.id; ; ) {
    const bounds = after === undefined ? {} : { after };
    const page = await store.scan(table, { prefix, ...bounds, limit: PAGE });
    after = page.at(-1)?.id as string | undefined;
    if (after === undefined) return;
    // All turns of a message together: the page may end between two of them.
    for (const row of page) if (row.id !== after) yield row;
    yield* await store.scan(table, { prefix: [...prefix, after] });
    if (page.length < PAGE) return;
  }
}
