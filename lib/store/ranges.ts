// Counts the rows of each range about which sets of a group have an expectation, after the sets accepted so far. A part of an overlay.

import { ConflictError } from "./errors.js";
import { type RangeNeeds, rangeText } from "./needs.js";
import type { AnyRow } from "./table.js";
import { type IndexShape, isIn, sameValue, type TableShape } from "./table-shape.js";
import type { UndoLog } from "./undo-log.js";
import type { Key, RangeExpectation } from "./write-set.js";

interface Counted {
  readonly index: IndexShape;
  readonly prefix: Key;
  /** NaN: a clear of the group removed an unknown number of rows. */
  rows: number;
}

export class Ranges {
  readonly #ranges: ReadonlyMap<string, Counted>;
  readonly #undo: UndoLog;

  constructor(shape: TableShape, ranges: readonly RangeNeeds[], counts: readonly number[], undo: UndoLog) {
    this.#undo = undo;
    this.#ranges = new Map(
      ranges.map(({ index, prefix }, i) => [
        rangeText(index, prefix),
        { index: shape.indexes.get(index) as IndexShape, prefix, rows: counts[i] as number },
      ]),
    );
  }

  get isEmpty(): boolean {
    return this.#ranges.size === 0;
  }

  /** @throws ConflictError unless the range has so many rows */
  expect({ table, index = "", prefix, rows }: RangeExpectation): void {
    const found = this.#ranges.get(rangeText(index, prefix))?.rows;
    if (found === rows) return;
    const where = index === "" ? "by key" : `by ${index}`;
    const there = Number.isNaN(found) ? "others cleared in the same group" : `${found} rows`;
    throw new ConflictError(table.name, prefix, `${rows} rows ${where}`, there);
  }

  /** A row has changed: `before` was there and `now` is. To undo it, the caller says the opposite. */
  changed(before: AnyRow | undefined, now: AnyRow | undefined): void {
    for (const range of this.#ranges.values()) {
      if (before !== undefined && isIn(range.index, range.prefix, before)) range.rows--;
      if (now !== undefined && isIn(range.index, range.prefix, now)) range.rows++;
    }
  }

  /** All rows of an index under a prefix are gone, and rows that were not looked at with them. */
  cleared(index: string, prefix: Key): void {
    for (const range of this.#ranges.values()) {
      const { rows } = range;
      const left = rowsLeft(range, index, prefix);
      if (Object.is(rows, left)) continue;
      range.rows = left;
      this.#undo.push(() => {
        range.rows = rows;
      });
    }
  }
}

function rowsLeft({ index, prefix, rows }: Counted, name: string, cleared: Key): number {
  if (index.name !== name) return Number.NaN;
  const isApart = prefix.some((value, i) => i < cleared.length && !sameValue(value, cleared[i] ?? null));
  if (isApart) return rows;
  return cleared.length <= prefix.length ? 0 : Number.NaN;
}
