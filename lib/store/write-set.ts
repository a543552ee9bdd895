// A write set: what one writer changes in one atomic step. A group commit carries many write sets in one transaction; each of
// them is applied as a whole or refused as a whole, independently of the others.

import type { Fence } from "./claim.js";
import type { AnyRow, Table, Value } from "./table.js";

/** The values of the columns of a table's key, in their order. */
export type Key = readonly Value[];

/**
 * One change of one table. Writes of a set apply in their order. A row may leave out columns that may be null, and leaves out the
 * column that the store numbers. Null in a unique index is unlike any other null.
 */
export type Write =
  | RowWrite
  /**
   * Makes these writes only if, at this point of the set, there is a row with this key and with these values; `is` without any values:
   * if there is a row. Its result is 1 if they were made, else 0. If one of them is refused, the set is.
   */
  | {
      readonly type: "when";
      /** The table of the row. */
      readonly table: Table;
      /** The key of the row. */
      readonly key: Key;
      /** The values that the row must have in these columns for the writes to happen. */
      readonly is: AnyRow;
      /** The writes that are made then. */
      readonly writes: readonly RowWrite[];
    };

/** A change without a condition. */
export type RowWrite =
  /** Adds a row. If there is a row with this key, or with these values of a unique index, the whole set is refused. */
  | { readonly type: "insert"; readonly table: Table; readonly row: AnyRow }
  /** Adds a row unless there is one with this key or with these values of a unique index; then nothing is written. */
  | { readonly type: "offer"; readonly table: Table; readonly row: AnyRow }
  /**
   * Adds a row, or replaces the one with this key. If another row has these values of a unique index, the set is refused. Not for
   * counted tables.
   */
  | { readonly type: "put"; readonly table: Table; readonly row: AnyRow }
  /**
   * Changes columns of the row with this key, if there is one; `add` adds to numbers, where null counts as 0. Columns of the key do
   * not change, and those of a unique index are set together. If another row has these values of it, the set is refused.
   */
  | {
      readonly type: "update";
      /** The table of the row. */
      readonly table: Table;
      /** The key of the row. */
      readonly key: Key;
      /** New values of columns. */
      readonly set?: AnyRow;
      /** Numbers to add to columns. */
      readonly add?: Readonly<Record<string, number>>;
    }
  /**
   * Removes the row with this key, if there is one. `blind`: the store does not check whether there is one, which is faster, and the
   * result is 1.
   */
  | { readonly type: "delete"; readonly table: Table; readonly key: Key; readonly blind?: boolean }
  /** Removes all rows whose index begins with these values. `index` absent: whose key begins so. */
  | { readonly type: "clear"; readonly table: Table; readonly index?: string; readonly prefix: Key };

/** A condition for a write set to be applied: about a row, or about all rows that an index has under a prefix. */
export type Expectation = RowExpectation | RangeExpectation;

/** A condition about a row. */
export interface RowExpectation {
  /** The table of the row. */
  readonly table: Table;
  /** The key of the row. */
  readonly key: Key;
  /** `absent`: there is no such row. `present`: there is one. Else there is one with these values in these columns. */
  readonly is: "absent" | "present" | AnyRow;
}

/**
 * The number of rows whose index must begin with these values. Together with an expectation for each of these rows, it ensures that no
 * row was added, moved in or out, or changed. Not for sets that `attach` gives to a transaction with SQL.
 */
export interface RangeExpectation {
  /** The table of the rows. */
  readonly table: Table;
  /** An index of the table. Default: the key. */
  readonly index?: string;
  /** Values of the first columns of the index. */
  readonly prefix: Key;
  /** The number of rows. */
  readonly rows: number;
}

/** The changes of one writer in one atomic step. A write set is checked when it is submitted: change neither the set nor its rows from then on. */
export interface WriteSet {
  /** Must all hold when the set is applied, or the set is refused with {@link ConflictError}. */
  readonly expect?: readonly Expectation[];
  /** Applied in their order, each seeing those before it. */
  readonly writes: readonly Write[];
  /** The claim under which the writer acts. If the claim is lost, the set is refused with {@link FencedError}. */
  readonly claim?: Fence;
  /** Topics whose watchers are notified after the commit, in this process and in others. */
  readonly notify?: readonly string[];
}

/** The result of a committed write set for its writer. */
export interface Committed {
  /**
   * For each write, in order: the number given to the inserted row of a counted table (0 for an offer that wrote nothing), else
   * how many rows it wrote.
   */
  readonly results: readonly number[];
}
