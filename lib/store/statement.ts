// Statements: a driver carries them out in one transaction, for all accepted write sets of a group together. Statements of different
// tables can be carried out in any order, those of one table in the order of the list.

import type { AnyRow, Table } from "./table.js";
import type { Key } from "./write-set.js";

/** A change of one table, as large as possible. */
export type Statement =
  /**
   * Adds rows, none of which is there. In a table that is counted the rows have no number: the driver gives numbers in the order
   * of the rows, and passes them on with {@link numbered}.
   */
  | { readonly type: "insert"; readonly table: Table; readonly rows: AnyRow[]; readonly slots?: Slots }
  /**
   * Adds rows, or replaces those with their keys. No key is there twice. Columns that a row leaves out are null. Rows of a counted
   * table have their number.
   */
  | { readonly type: "put"; readonly table: Table; readonly rows: AnyRow[] }
  /** Sets columns of rows that are there. Each row has the key and these columns. */
  | {
      readonly type: "update";
      readonly table: Table;
      readonly columns: readonly string[];
      readonly rows: AnyRow[];
    }
  /** Removes the rows with these keys. */
  | { readonly type: "delete"; readonly table: Table; readonly keys: Key[] }
  /** Removes the rows whose index begins with these values; `""` is the key. The driver passes on how many: {@link numbered}. */
  | {
      readonly type: "clear";
      readonly table: Table;
      readonly index: string;
      readonly prefix: Key;
      readonly slots: Slots;
    };

/** Where results belong: the nth at place `at[n]` of `results[n]`. */
export interface Slots {
  readonly results: number[][];
  readonly at: number[];
}

/** Passes on the number of the nth row of a statement, or how many rows it removed. */
export function numbered(slots: Slots, n: number, result: number): void {
  (slots.results[n] as number[])[slots.at[n] as number] = result;
}
