// A schema: the tables of one part of the library or of a program, with a version and the ways from one version to the next.

import type { Table } from "./table.js";

/** Steps from the version before. */
export interface Migration {
  /** Tables and indexes that are new in this version are created by themselves, and columns that are new are added as null. */
  readonly drop?: readonly string[];
  /** SQL for stores that have SQL, where the above is not enough. */
  readonly sql?: readonly string[];
}

/**
 * The failures that an acknowledged write survives. `power-loss`: the loss of power or of the operating system, because every group is written to
 * the disk. `process-kill`: the end of the process by any means, SIGKILL included; a power loss may take the last writes, never a part of one.
 */
export type Durability = "power-loss" | "process-kill";

/** Tables with a version. Several schemas share a store; the names of tables are unique in the whole store. */
export interface Schema {
  /** Lower case letters, digits and `_`. */
  readonly name: string;
  /** 1 or more. A store of a newer version is refused with {@link StoreVersionError}; one of an older version is migrated. */
  readonly version: number;
  /** All tables of this version. */
  readonly tables: readonly Table[];
  /** By the version they lead to: 2 leads from 1 to 2. A version without an entry only adds tables, indexes and columns. */
  readonly migrations?: Readonly<Record<number, Migration>>;
  /**
   * Tables without which a store of this schema cannot be read. A store that has the schema without one of them was written before the first
   * release, in a format that shares its version with a later one; it is refused with {@link StoreVersionError}.
   */
  readonly requires?: readonly string[];
  /**
   * The failures that acknowledged writes have to survive, on a store in a file whose options do not say: see {@link Durability}. A file that several
   * schemas share has the stricter one. Default `power-loss`.
   */
  readonly durability?: Durability;
}
