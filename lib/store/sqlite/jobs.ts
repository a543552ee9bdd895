// The jobs of the engine, and their answers. Everything here passes between threads.

import type { Parameter } from "./connection.js";

/** Which driver opens the file. */
export type Driver =
  | { readonly kind: "node" }
  /** `path`: of the package's main file, because a thread resolves no names. */
  | { readonly kind: "libsql"; readonly path: string };

/** Settings of a connection. */
export interface Settings {
  readonly path: string;
  readonly driver: Driver;
  /** `full`: every commit is synced. `normal`: a commit survives the end of the process, and not always that of the machine. */
  readonly synchronous: "full" | "normal";
  readonly cacheBytes: number;
  readonly walBytes: number;
  readonly autoCheckpointPages: number;
  readonly preparedStatements: number;
  readonly statements: number;
  readonly resultRows: number;
  /** Marks a file as a store of this library. */
  readonly applicationId: number;
  /** The newest format of the library's own tables that this release reads. */
  readonly format: number;
}

/**
 * Statements that differ in their parameters alone: `head`, then `tuple` for each of at most `most` rows, then `tail`. `width` values
 * belong to each row; `fixed` ones come before those of the rows, in each statement.
 */
export interface StatementBatch {
  readonly head: string;
  readonly tuple: string;
  readonly tail: string;
  readonly most: number;
  readonly width: number;
  readonly values: readonly Parameter[];
  readonly fixed?: readonly Parameter[];
}

export interface Query {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
}

/** One thing to do. Jobs are done in their order, each as a whole. */
export type Job =
  | { readonly type: "open"; readonly settings: Settings }
  | { readonly type: "read"; readonly queries: readonly Query[] }
  /** All steps in one transaction, or none. */
  | { readonly type: "write"; readonly steps: readonly StatementBatch[] }
  /** The next statement of a transaction of the user. */
  | { readonly type: "execute"; readonly id: number; readonly query: Query }
  /** The end of a transaction of the user, with what commits together with it. */
  | { readonly type: "finish"; readonly id: number; readonly steps: readonly StatementBatch[] }
  | { readonly type: "abandon"; readonly id: number }
  | { readonly type: "checkpoint" }
  /** From now on every commit is synced. */
  | { readonly type: "sync all" }
  | { readonly type: "backup"; readonly path: string }
  | { readonly type: "close" };

export interface Opened {
  /** The version of SQLite. */
  readonly sqlite: string;
  /** 0: the file is new. */
  readonly format: number;
  readonly applicationId: number;
  /** Whether the file has tables. */
  readonly tables: boolean;
}

export type Rows = readonly Readonly<Record<string, Parameter>>[];

export interface Written {
  /** How many rows each step changed. */
  readonly changes: readonly number[];
  /** The size of the write-ahead log. */
  readonly walBytes: number;
}

export type Executed =
  | { readonly type: "answered"; readonly rows: Rows; readonly changes: number }
  /** The database refuses the statement; the transaction goes on. */
  | { readonly type: "refused"; readonly failure: Failure }
  | { readonly type: "too many rows"; readonly most: number }
  | { readonly type: "too many statements"; readonly most: number }
  | { readonly type: "overtaken" };

export type Finished = (Written & { readonly type: "committed" }) | { readonly type: "overtaken" };

export interface Checkpointed {
  /** A reader kept the log from being emptied. */
  readonly busy: boolean;
  readonly walBytes: number;
}

/** The answers of the jobs. */
export interface Answers {
  readonly open: Opened;
  readonly read: readonly Rows[];
  readonly write: Written;
  readonly execute: Executed;
  readonly finish: Finished;
  readonly abandon: undefined;
  readonly checkpoint: Checkpointed;
  readonly "sync all": undefined;
  readonly backup: undefined;
  readonly close: undefined;
}

/** An error of a driver or of the file system. */
export interface Failure {
  readonly message: string;
  /** SQLite's extended result code. */
  readonly result: number | undefined;
  /** Of the host: `ENOENT` and the like. */
  readonly code: string | undefined;
  /** The activity of the engine. */
  readonly at: string;
}

/** To the engine. */
export type Request = readonly [id: number, job: Job];
/** From the engine. */
export type Reply = readonly [id: number, failure: Failure | undefined, answer: unknown];
