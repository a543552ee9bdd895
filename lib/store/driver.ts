// The interface that each kind of store implements. GroupedStore has everything that all kinds have in common, and drives it.

import type { ClaimInfo } from "./claim.js";
import type { Recovery } from "./group-commit-machine.js";
import type { CommitOutcome } from "./plan.js";
import type { Schema } from "./schema.js";
import type { SqlTransaction, SqlTransactionOptions } from "./sql.js";
import type { StoreContext } from "./store.js";
import type { AnyRow, Table, Value } from "./table.js";
import type { IndexShape } from "./table-shape.js";
import type { CheckedTake } from "./take.js";
import type { Key, WriteSet } from "./write-set.js";

/** The result of a group. */
export interface Applied {
  /** For each set, in their order. */
  readonly outcomes: readonly CommitOutcome[];
  /**
   * For how many milliseconds the driver held the event loop after the call of `apply` had returned. Groups become smaller when
   * they hold it for long.
   */
  readonly heldMs?: number;
}

/** A scan whose options were checked, and have their defaults. */
export interface CheckedScan {
  /** The index, or the key. Rows with the same values in the index come in the order of the key. */
  readonly index: IndexShape;
  readonly prefix: Key;
  /** Bounds on the column after the prefix; a row with null there is within no bound. At most one of `from` and `after` is given. */
  readonly from: Value | undefined;
  readonly after: Value | undefined;
  readonly below: Value | undefined;
  readonly reverse: boolean;
  readonly limit: number;
  /** Only rows with these values. */
  readonly where?: AnyRow | undefined;
}

/** A claim that is held, or believed to be. */
export interface HeldClaim {
  readonly name: string;
  readonly token: number;
}

/** The part of the store that its driver may use. */
export interface DriverHost extends StoreContext {
  /** Others committed a set with this topic: another process, or another handle on the same data. */
  notified(topic: string): void;
  /** Notifications of others may have been lost. */
  again(): void;
}

/**
 * One kind of store. The methods may reject with any error: those that are no SignalboxError reach the user as the cause of a
 * StoreError. No method is called before `migrate` was fulfilled once, and none after `close` was called.
 */
export interface StoreDriver {
  readonly label: string;
  /** Several processes can write at the same time. */
  readonly shared: boolean;
  /** Claims expire unless they are renewed. */
  readonly renews: boolean;
  /** Brings the tables of these schemas to their versions. Called again when the store is opened again with others. */
  migrate(schemas: readonly Schema[]): Promise<void>;
  /**
   * Applies a group in one transaction: reads what {@link needs} names, plans, carries out the statements, commits, syncs.
   * Rejects when nothing of the group is written, and only then. One group at a time.
   */
  apply(sets: readonly WriteSet[]): Promise<Applied>;
  /** Whether a group that was rejected with this error is retried, split or failed. */
  recovery(error: unknown): Recovery;
  get(table: Table, keys: readonly Key[]): Promise<readonly (AnyRow | undefined)[]>;
  scan(table: Table, scan: CheckedScan): Promise<readonly AnyRow[]>;
  /**
   * The rows of scans that differ only in their prefix of one value, in one read: in the order of the prefixes' values, then as each
   * scan has them. `scan` has one of the prefixes; its limit is that of all rows together. Absent: each scan is read by itself.
   */
  scanAll?(table: Table, scan: CheckedScan, prefixes: readonly Value[]): Promise<readonly AnyRow[]>;
  /** How many rows there are. The limit does not count; `atMost` does. */
  count(table: Table, scan: CheckedScan, atMost?: number): Promise<number>;
  /**
   * Changes the first rows of a range that no other writer is changing, and returns them, in any order; undefined if the claim is lost.
   * Absent: {@link takeByExpectation} does.
   */
  take?(table: Table, take: CheckedTake): Promise<readonly AnyRow[] | undefined>;
  clock(): Promise<number>;
  /**
   * Claims a name. The token, larger than any before, or undefined when another owner holds the name.
   *
   * @param endsWithConnection - whether others get the claim when the connection ends before its time
   */
  claim(name: string, owner: string, ttlMs: number, endsWithConnection: boolean): Promise<number | undefined>;
  /** Renews claims. Those that are lost already are the result. Called only if the driver `renews`. */
  renew(claims: readonly (HeldClaim & { readonly ttlMs: number })[]): Promise<readonly HeldClaim[]>;
  /** Gives a claim back, if it is held with this token. */
  release(claim: HeldClaim): Promise<void>;
  claims(prefix: string): Promise<readonly ClaimInfo[]>;
  revoke(claim: HeldClaim): Promise<boolean>;
  /** SQL of the user. Absent: the store has none. Write sets that `attach` gives were checked. */
  transaction?<T>(body: (tx: SqlTransaction) => Promise<T>, options: SqlTransactionOptions<T>): Promise<T>;
  /** Absent: the store has tools of its own for it. */
  backup?(path: string): Promise<void>;
  close(): Promise<void>;
}
