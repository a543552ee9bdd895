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

/** Which rows are wanted. */
export interface Wanted<A> {
  /** Only those behind this one. */
  readonly behind?: A | undefined;
  /** Most rows: no more are read. Default: all. */
  readonly most?: number;
}

/** The rows with a prefix of the key, which the id follows. */
export function pagesOf<C extends Columns>(
  store: Store,
  table: Table<C>,
  prefix: Prefix,
  wanted: Wanted<string> = {},
): AsyncGenerator<RowOf<C>, void, undefined> {
  return behindOf(store, table, prefix, "id", wanted);
}

/** @param column - follows the prefix in the key */
async function* behindOf<C extends Columns>(
  store: Store,
  table: Table<C>,
  prefix: Prefix,
  column: keyof RecordPlace,
  { behind, most = Number.POSITIVE_INFINITY }: Wanted<string | number>,
): AsyncGenerator<RowOf<C>, void, undefined> {
  let after = behind;
  for (let left = most; left > 0; ) {
    const limit = Math.min(PAGE, left);
    const rows = await store.scan(table, { prefix, ...(after !== undefined && { after }), limit });
    yield* rows;
    if (rows.length < limit) return;
    after = rows.at(-1)?.[column] as string | number;
    left -= limit;
  }
}

/**
 * The records of dead letters with a prefix of the key, which id and turn follow.
 *
 * @param id - only those of this message
 */
export async function* recordsIn<C extends Columns>(
  store: Store,
  table: Table<C>,
  prefix: Prefix,
  id: string | undefined,
  { behind, most = Number.POSITIVE_INFINITY }: Wanted<RecordPlace>,
): AsyncGenerator<RowOf<C>, void, undefined> {
  let left = most;
  const turnsOf = async function* (one: string, turn?: number): AsyncGenerator<RowOf<C>, void, undefined> {
    for await (const row of behindOf(store, table, [...prefix, one], "turn", { behind: turn, most: left })) {
      left--;
      yield row;
    }
  };
  const one = id ?? behind?.id;
  // The rest of one message first, then those behind it.
  if (one !== undefined) yield* turnsOf(one, behind?.id === one ? behind.turn : undefined);
  if (id !== undefined) return;
  for (let after = behind?.id; left > 0; ) {
    const limit = Math.min(PAGE, left);
    const page = await store.scan(table, { prefix, ...(after !== undefined && { after }), limit });
    after = page.at(-1)?.id as string | undefined;
    if (after === undefined) return;
    // All turns of a message together: the page may end between two of them.
    const whole = page.filter((row) => row.id !== after);
    yield* whole;
    left -= whole.length;
    yield* turnsOf(after);
    if (page.length < limit) return;
  }
}
