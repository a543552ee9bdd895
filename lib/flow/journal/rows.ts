// Rows of flows and what belongs to them, page by page, and with the large values in place of their references.

import type { Store } from "../../store/index.js";
import { resolved } from "./blobs.js";
import type { Stored } from "./entry.js";
import { type FlowRow, flows } from "./tables.js";

/** The flows of a part of an index that ends with their numbers, in the order of their starts. */
export async function* flowsIn(
  store: Store,
  part: { readonly index: string; readonly prefix: readonly (string | number)[] },
  limit: number,
): AsyncGenerator<FlowRow, void, undefined> {
  for (let after = 0; ; ) {
    const rows: FlowRow[] = await store.scan(flows, { ...part, after, limit });
    yield* rows;
    if (rows.length < limit) return;
    after = (rows.at(-1) as FlowRow).number;
  }
}

/** The same rows, with the large values in place of their references. */
export async function withValues<R extends { readonly value: Stored }>(
  store: Store,
  rows: readonly R[],
): Promise<R[]> {
  const values = await resolved(
    store,
    rows.map(({ value }) => value),
  );
  return rows.map((row, i) => ({ ...row, value: values[i] ?? null }));
}
