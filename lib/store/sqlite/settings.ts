// The options of a SQLite store: checked once, with their defaults in one table.

import { only } from "../../process/known-options.js";
import { count, delay, flag, oneOf } from "../../process/options.js";
import type { Durability, Schema } from "../schema.js";
import type { SqlLimits } from "./sql-transactions.js";
import type { WalLimits } from "./wal-machine.js";

/** Bounds of a SQLite store. Sizes are bytes, times milliseconds. */
export interface SqliteLimits extends WalLimits, SqlLimits {
  /** Pages that the log may have before SQLite writes it back into the file. */
  readonly checkpointPages: number;
  /** Memory for pages of the file. */
  readonly cacheBytes: number;
  /** Statements that are kept prepared. */
  readonly preparedStatements: number;
  /** Most statements of one transaction of a user. */
  readonly transactionStatements: number;
  /** Most rows that one statement of a user gives. */
  readonly resultRows: number;
}

/** The default of every option of a SQLite store. */
export const SQLITE_DEFAULTS: SqliteLimits & { readonly durability: Durability; readonly thread: boolean } = {
  durability: "power-loss",
  thread: true,
  checkpointPages: 1_000,
  walBytes: 8 * 1024 * 1024,
  walWarnBytes: 64 * 1024 * 1024,
  idleMs: 1_000,
  cacheBytes: 32 * 1024 * 1024,
  preparedStatements: 500,
  transactionMs: 5_000,
  transactionAttempts: 10,
  transactionStatements: 1_000,
  transactionBytes: 16 * 1024 * 1024,
  resultRows: 100_000,
};

/** What `sqlite` is given besides the path. */
export interface SqliteOptions extends Partial<SqliteLimits> {
  /**
   * The failures that an acknowledged write survives. The default depends on the users of the file: `process-kill` for pipelines alone;
   * `power-loss` with anything else in the file, such as flows.
   */
  readonly durability?: Durability;
  /** The file is worked on in a thread of its own, so that no flush of the disk holds the event loop. Default true. */
  readonly thread?: boolean;
  /** Which driver opens the file. Default: `node` (node:sqlite) where Node has it, else `libsql`. */
  readonly driver?: "node" | "libsql";
}

/** The options with their defaults. */
export interface SqliteSettings extends SqliteLimits {
  /** Undefined: see {@link durabilityOf}. */
  readonly durability: Durability | undefined;
  readonly thread: boolean;
  readonly driver: "node" | "libsql" | undefined;
}

const TIMES: readonly string[] = ["idleMs", "transactionMs"];

/** @throws OptionError */
export function checkOptions(options: SqliteOptions): SqliteSettings {
  only("options", options, [...Object.keys(SQLITE_DEFAULTS), "driver"]);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: SqliteSettings = {
    ...SQLITE_DEFAULTS,
    durability: undefined,
    driver: undefined,
    ...Object.fromEntries(given),
  };
  const { durability, thread, driver, ...limits } = settings;
  if (durability !== undefined) oneOf("durability", durability, ["power-loss", "process-kill"]);
  flag("thread", thread);
  if (driver !== undefined) oneOf("driver", driver, ["node", "libsql"]);
  for (const [name, value] of Object.entries(limits))
    if (TIMES.includes(name)) delay(name, value, 1);
    else count(name, value, 1);
  return settings;
}

/** The durability of one file with these schemas: the strictest that one of them asks for. */
export function durabilityOf({ durability }: SqliteSettings, schemas: readonly Schema[]): Durability {
  if (durability !== undefined) return durability;
  const isRelaxed = schemas.length > 0 && schemas.every((schema) => schema.durability === "process-kill");
  return isRelaxed ? "process-kill" : SQLITE_DEFAULTS.durability;
}
