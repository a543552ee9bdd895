// The interface of all stores. memory, sqlite and postgres implement it; one conformance suite tests all of them.

import type { Environment } from "../process/environment.js";
import type { Claim, ClaimInfo, ClaimOptions, Fence } from "./claim.js";
import type { Schema } from "./schema.js";
import type { SqlTransaction, SqlTransactionOptions } from "./sql.js";
import type { AnyRow, Columns, RowOf, Table, Value } from "./table.js";
import type { Committed, Key, WriteSet } from "./write-set.js";

/** Which rows a scan gives, and in which order. */
export interface Scan {
  /** An index of the table by whose columns rows are found and ordered. Default: the key. */
  readonly index?: string;
  /** Values of the first columns of the index: only rows with these. */
  readonly prefix?: Key;
  /** Lower bound on the next column after the prefix, inclusive. A row with null there is within no bound. */
  readonly from?: Value;
  /** Lower bound on that column, exclusive. */
  readonly after?: Value;
  /** Upper bound on that column, exclusive. */
  readonly below?: Value;
  /** Only rows with these values in these columns. The store looks at each row of the range for them. */
  readonly where?: AnyRow;
  /** From the last to the first. Default false. */
  readonly reverse?: boolean;
  /** Most rows. Default 1,000; at most 100,000. */
  readonly limit?: number;
}

/** Which rows a count counts. */
export interface Count extends Omit<Scan, "reverse" | "limit"> {
  /** Where the count ends: it never exceeds this. Default: no limit. */
  readonly atMost?: number;
}

/** Which rows a take changes, and how. */
export interface Take extends Pick<Scan, "index" | "prefix" | "below"> {
  /** Most rows. */
  readonly limit: number;
  /** Only rows with these values in these columns. */
  readonly where?: AnyRow;
  /** New values of columns: none of the key, and none of a unique index. */
  readonly set: AnyRow;
  /** The claim under which the rows are taken. If it is lost, nothing is. */
  readonly claim?: Fence;
}

/** Called after a commit that notified a topic. */
export interface Watcher {
  /** A set with this topic was committed. Called once for many of the same topic that were committed together. */
  notified(topic: string): void;
  /** Notifications may have been lost (a connection was replaced): look at the tables again. */
  again(): void;
}

/** An open store. All methods reject with {@link StoreClosedError} after `close`. */
export interface Store extends AsyncDisposable {
  /** `memory`, `sqlite` or `postgres`, and where: for people. */
  readonly label: string;
  /** Several processes can write to it at the same time. False: this process is the only one. */
  readonly shared: boolean;
  /**
   * Applies a write set in a group commit. Fulfilled when the set is durable: the transaction that holds it was committed and
   * synced. A set of no writes and no expectations is fulfilled behind all sets that were committed before.
   *
   * @throws ConflictError, FencedError, ValueError, StoreOverloadedError, StoreError
   */
  commit(set: WriteSet): Promise<Committed>;
  /** As `commit`, for callers that need no promise. `settled` is called once, never in the caller's turn. */
  submit(set: WriteSet, settled: (error: Error | undefined, committed: Committed | undefined) => void): void;
  /** The rows with these keys, in the order of the keys; undefined for a key without a row. */
  get<C extends Columns>(table: Table<C>, keys: readonly Key[]): Promise<(RowOf<C> | undefined)[]>;
  /** Rows in the order of an index. Sees all that was committed before the call. */
  scan<C extends Columns>(table: Table<C>, scan: Scan): Promise<RowOf<C>[]>;
  /** How many rows there are, `atMost` at most. */
  count<C extends Columns>(table: Table<C>, count: Count): Promise<number>;
  /**
   * Changes the first rows of a range that no other writer is changing, and returns them as they are then, in the order of the index.
   * Two takes at the same time get different rows, if `set` changes a row so that `where` leaves it out. A take does not wait for other
   * writers, nor for write sets that were submitted before: it skips rows that others are changing.
   *
   * @throws FencedError, ValueError, OptionError, StoreError
   */
  take<C extends Columns>(table: Table<C>, take: Take): Promise<RowOf<C>[]>;
  /** Milliseconds since 1970 by the clock of the store: the server's clock if the store has a server. */
  clock(): Promise<number>;
  /**
   * Claims a name. Undefined: another owner holds it.
   *
   * @throws StoreError
   */
  claim(name: string, options: ClaimOptions): Promise<Claim | undefined>;
  /** The claims whose names begin with `prefix`, by name. Owners that are known to be dead are not held any more. */
  claims(prefix: string): Promise<ClaimInfo[]>;
  /** Takes a claim away from its owner: further writes under it are refused. False: it was not held with this token. */
  revoke(name: string, token: number): Promise<boolean>;
  /** Notifies `watcher` after commits that named a topic that begins with `prefix`. Returns the call that ends it. */
  watch(prefix: string, watcher: Watcher): () => void;
  /**
   * Runs SQL of the user in a transaction of its own on this store; `attach` gives a write set that commits with it.
   *
   * @throws StoreUnsupportedError where the store has no SQL (memory)
   */
  transaction<T>(body: (tx: SqlTransaction) => Promise<T>, options?: SqlTransactionOptions<T>): Promise<T>;
  /**
   * Writes a copy of the whole store as of now to a new file, while the store works on. A store with a server refuses: its server
   * has tools of its own.
   */
  backup(path: string): Promise<void>;
  /** Waits for what was submitted, then closes. */
  close(): Promise<void>;
}

/** The surroundings that a store needs. */
export interface StoreContext {
  /** Clock, randomness and ids. */
  readonly environment: Environment;
  /** Calls `fn` after at least this many milliseconds; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** Reports events that no caller waits for: a WAL that grows, a connection that was replaced. */
  warn(warning: StoreWarning): void;
}

/** Something that people should know about a store that works. */
export interface StoreWarning {
  /** Names the kind of warning. */
  readonly code: string;
  /** Text for people: the event, and what to do about it. */
  readonly message: string;
}

/** A store that is not open yet: what `memory`, `sqlite` and `postgres` return. */
export interface StoreSource {
  /** For people, without passwords. */
  readonly label: string;
  /** How many milliseconds an operation waits for a server that cannot be reached, for a store that has a server. */
  readonly unreachableMs?: number;
  /** The path of its file, for a store that is one file of one process. */
  readonly file?: string;
  /**
   * Opens the store and brings the tables of these schemas to their versions. Opening the same source again while it is open gives
   * another handle on the same connection; the last one to close closes it.
   *
   * @throws StoreLockedError, StoreVersionError, StoreDamagedError, StoreIncompleteError, StoreError, PackageMissingError
   */
  open(schemas: readonly Schema[], context: StoreContext): Promise<Store>;
}
