// Rows in the order of an index: sorted chunks, so that an insert moves one chunk at most, and a search halves twice.

import type { AnyRow } from "../table.js";

/** Most rows of a chunk. A full one is split. */
const CHUNK = 512;

export class SortedRows {
  readonly #compare: (one: AnyRow, other: AnyRow) => number;
  readonly #chunks: AnyRow[][] = [];

  /** @param compare - never 0 for two rows of the table */
  constructor(compare: (one: AnyRow, other: AnyRow) => number) {
    this.#compare = compare;
  }

  add(row: AnyRow): void {
    const chunks = this.#chunks;
    const isAfter = (one: AnyRow): boolean => this.#compare(one, row) > 0;
    // A row behind all others joins the last chunk.
    const at = Math.min(firstChunk(chunks, isAfter), Math.max(0, chunks.length - 1));
    const chunk = chunks[at];
    if (chunk === undefined) {
      chunks.push([row]);
      return;
    }
    chunk.splice(firstIn(chunk, isAfter), 0, row);
    if (chunk.length <= CHUNK) return;
    // Rows that come in their order leave full chunks behind.
    const isAppended = at === chunks.length - 1 && chunk.at(-1) === row;
    chunks.splice(at + 1, 0, chunk.splice(isAppended ? CHUNK : CHUNK / 2));
  }

  remove(row: AnyRow): void {
    const isIt = (one: AnyRow): boolean => this.#compare(one, row) >= 0;
    const at = firstChunk(this.#chunks, isIt);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    const place = firstIn(chunk, isIt);
    const found = chunk[place];
    if (found === undefined || this.#compare(found, row) !== 0) return;
    chunk.splice(place, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
  }

  /** How many rows there are from the first that is `inside` to the last before one is `beyond`. Both hold for all rows behind. */
  count(inside: (row: AnyRow) => boolean, beyond: (row: AnyRow) => boolean): number {
    return Math.max(0, this.#rank(beyond) - this.#rank(inside));
  }

  /** Those rows, in their order or from the last to the first, `limit` at most. @param isWanted - absent: all are */
  range(
    inside: (row: AnyRow) => boolean,
    beyond: (row: AnyRow) => boolean,
    reverse: boolean,
    limit: number,
    isWanted?: (row: AnyRow) => boolean,
  ): AnyRow[] {
    const found: AnyRow[] = [];
    const [step, outside] = reverse ? [-1, inside] : [1, beyond];
    let at = firstChunk(this.#chunks, reverse ? beyond : inside);
    let chunk = this.#chunks[at] ?? [];
    let place = firstIn(chunk, reverse ? beyond : inside) - (reverse ? 1 : 0);
    while (found.length < limit) {
      const row = chunk[place];
      if (row === undefined) {
        at += step;
        const next = this.#chunks[at];
        if (next === undefined) return found;
        chunk = next;
        place = reverse ? chunk.length - 1 : 0;
        continue;
      }
      if (outside(row) !== reverse) return found;
      if (isWanted?.(row) !== false) found.push(row);
      place += step;
    }
    return found;
  }

  /** How many rows come before the first for which this holds. */
  #rank(holds: (row: AnyRow) => boolean): number {
    const at = firstChunk(this.#chunks, holds);
    let rank = 0;
    for (let i = 0; i < at; i++) rank += (this.#chunks[i] as AnyRow[]).length;
    return rank + firstIn(this.#chunks[at] ?? [], holds);
  }
}

/** The first chunk with a row for which this holds. */
function firstChunk(chunks: readonly AnyRow[][], holds: (row: AnyRow) => boolean): number {
  let low = 0;
  let high = chunks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const chunk = chunks[middle] as AnyRow[];
    if (holds(chunk[chunk.length - 1] as AnyRow)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function firstIn(chunk: readonly AnyRow[], holds: (row: AnyRow) => boolean): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(chunk[middle] as AnyRow)) high = middle;
    else low = middle + 1;
  }
  return low;
}
