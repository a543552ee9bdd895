// Lists: their filters, their pages, and how a page is shown.

import { Misuse } from "./arguments.js";
import type { Showing, StoreCommandHost } from "./context.js";
import { type Column, renderTable } from "./table.js";
import { numberGiven } from "./values.js";

/** Most items that are printed unless the user says otherwise. */
export const LIST_LIMIT = 50;
/** Most items that are asked for at once. */
const PAGE_LIMIT = 1_000;

/** The value of `--limit`. @throws Misuse */
export function limitGiven(text: string | undefined): number {
  return text === undefined ? LIST_LIMIT : numberGiven("limit", text, 1);
}

/** The values of `--status`. Undefined: all. @throws Misuse */
export function statusesGiven<Status extends string>(
  given: readonly string[],
  known: readonly Status[],
): readonly Status[] | undefined {
  for (const status of given)
    if (!known.includes(status as Status))
      throw new Misuse(`--status must be one of ${known.join(", ")}; got ${JSON.stringify(status)}`);
  return given.length > 0 ? (given as readonly Status[]) : undefined;
}

/** The fields that have a value. */
export function defined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Reads pages until there are enough items. */
export async function readPages<Page extends { readonly next?: string }, Item>(
  limit: number,
  cursor: string | undefined,
  read: (range: { readonly cursor?: string; readonly limit: number }) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Promise<{ readonly items: readonly Item[]; readonly rest: { readonly next?: string } }> {
  const items: Item[] = [];
  let next = cursor;
  do {
    const page = await read({
      ...(next !== undefined && { cursor: next }),
      limit: Math.min(limit - items.length, PAGE_LIMIT),
    });
    items.push(...itemsOf(page));
    next = page.next;
  } while (next !== undefined && items.length < limit);
  return { items, rest: next === undefined ? {} : { next } };
}

/** A page as a table, and how to go on behind it. @param none - what stands for a page of a list without items */
export function pageText<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  next: string | undefined,
  none: string,
  { host, style }: Showing<StoreCommandHost, never>,
): string {
  if (rows.length === 0 && next === undefined) return none;
  const table = renderTable(columns, rows, host.columns);
  return next === undefined ? table : `${table}\n${style.dim(`more: --cursor ${next}`)}`;
}
