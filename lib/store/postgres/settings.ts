// The options of a store on PostgreSQL: checked once, with their defaults in one table.

import { type Backoff, checkBackoff } from "../../process/backoff.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay, flag, oneOf } from "../../process/options.js";
import { STORE_DEFAULTS } from "../limits.js";

/** How far transactions of the user are kept apart, in the words of PostgreSQL. */
export type Isolation = "serializable" | "repeatable read" | "read committed";

/** The limits of a store on PostgreSQL. Durations are milliseconds. */
export interface PostgresLimits {
  /** How long an operation waits for a server that is away before it fails with {@link StoreUnreachableError}. */
  readonly unreachableMs: number;
  /** How long one attempt to connect may take. */
  readonly connectMs: number;
  /** The waits between attempts to connect. There is no last attempt. */
  readonly reconnect: Backoff;
  /** A server that gives no answer for this long counts as gone. Longer than `statementMs`. */
  readonly answerMs: number;
  /** The server ends a statement that takes longer (`statement_timeout`). */
  readonly statementMs: number;
  /** The server ends a wait for a lock that takes longer (`lock_timeout`). */
  readonly lockMs: number;
  /**
   * The server ends a session that does nothing for this long within a transaction (`idle_in_transaction_session_timeout`). So long a
   * process that hangs in the middle of a commit keeps others from taking its claims.
   */
  readonly idleInTransactionMs: number;
  /** Connections for reads, transactions of the user and claims, besides the one that writes and the one that listens. */
  readonly connections: number;
  /**
   * How long a host holds what it works on without renewal, by the server's clock; it renews three times as often. So long the others wait
   * for one that hangs or is cut off. A host that stops, or whose connection ends, gives it back at once. At least 500.
   */
  readonly leaseMs: number;
  /** For so long topics are gathered before other processes are notified. */
  readonly notifyMs: number;
  /** Most bytes of one notification. The server takes less than 8,000. */
  readonly notificationBytes: number;
  /** How often the store tests whether notifications arrive. */
  readonly listenTestMs: number;
  /** A test notification that takes longer does not arrive. */
  readonly listenAnswerMs: number;
  /** Where notifications do not arrive, watchers look again at this interval. */
  readonly pollMs: number;
  /** How long a transaction of a user may take, unless it says otherwise. */
  readonly transactionMs: number;
  /** How often its body is run when other writers are faster, unless it says otherwise. The waits in between grow, up to a second. */
  readonly transactionAttempts: number;
}

/** What {@link postgres} and {@link pglite} are given besides the connection. */
export interface PostgresOptions extends Partial<PostgresLimits> {
  /** The schema of the database that holds the tables of the store. It is created if it is not there. Default `signalbox`. */
  readonly schema?: string;
  /**
   * How far transactions of the user are kept apart. Default `serializable`: each commits as if it had run alone, as on SQLite, or its
   * body is run again.
   */
  readonly isolation?: Isolation;
  /**
   * Whether statements are prepared on the server. Default true. A pooler in transaction mode may know no prepared statements: then set
   * it to false.
   */
  readonly prepare?: boolean;
}

/** The options with their defaults. */
export interface PostgresSettings extends PostgresLimits {
  /** The schema of the database that holds the tables of the store. */
  readonly schema: string;
  /** How far transactions of the user are kept apart. */
  readonly isolation: Isolation;
  /** Whether statements are prepared on the server. */
  readonly prepare: boolean;
}

/** The default of every option of a store on PostgreSQL. */
export const POSTGRES_DEFAULTS: PostgresSettings = {
  schema: "signalbox",
  isolation: "serializable",
  prepare: true,
  unreachableMs: 30_000,
  connectMs: 10_000,
  reconnect: { minMs: 50, maxMs: 5_000, factor: 2, jitter: 0.2 },
  answerMs: 60_000,
  statementMs: 30_000,
  lockMs: 5_000,
  idleInTransactionMs: 10_000,
  connections: 4,
  leaseMs: STORE_DEFAULTS.claimTtlMs,
  notifyMs: 3,
  notificationBytes: 7_500,
  listenTestMs: 15_000,
  listenAnswerMs: 5_000,
  pollMs: 1_000,
  transactionMs: 5_000,
  transactionAttempts: 10,
};

/** Renewed three times as often, a shorter lease is lost in a pause that any process makes. */
const LEAST_LEASE_MS = 500;
const COUNTS: readonly string[] = ["connections", "notificationBytes", "transactionAttempts"];
/** The server takes a name of 63 bytes, and a notification of less than 8,000. */
const NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const NOTIFICATION_BYTES = [2_500, 7_900] as const;

/** @throws OptionError */
export function checkOptions(options: PostgresOptions): PostgresSettings {
  only("options", options, Object.keys(POSTGRES_DEFAULTS));
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  const settings: PostgresSettings = { ...POSTGRES_DEFAULTS, ...Object.fromEntries(given) };
  const { schema, isolation, prepare, reconnect, ...limits } = settings;
  if (typeof schema !== "string" || !NAME.test(schema) || schema.startsWith("pg_"))
    throw new OptionError(
      "schema",
      schema,
      "lower case letters, digits and _, 63 at most, and no name that begins with pg_",
    );
  oneOf("isolation", isolation, ["serializable", "repeatable read", "read committed"]);
  flag("prepare", prepare);
  checkBackoff("reconnect", reconnect);
  for (const [name, value] of Object.entries(limits))
    if (COUNTS.includes(name)) count(name, value, 1);
    else delay(name, value, name === "leaseMs" ? LEAST_LEASE_MS : 1);
  const [least, most] = NOTIFICATION_BYTES;
  if (limits.notificationBytes < least || limits.notificationBytes > most)
    throw new OptionError(
      "notificationBytes",
      limits.notificationBytes,
      `a whole number from ${least} to ${most}`,
    );
  if (limits.answerMs <= limits.statementMs)
    throw new OptionError(
      "answerMs",
      limits.answerMs,
      `more than statementMs, which is ${limits.statementMs}`,
    );
  return settings;
}

/**
 * How to reach a server: the options of a client of `pg`; further ones are passed on. Declared here, so that the types of
 * `pg` need not be installed.
 */
export interface PostgresConnection {
  /** A connection string; the other options take precedence. */
  readonly connectionString?: string;
  /** The name of the host, or the folder of its Unix socket. */
  readonly host?: string;
  /** The port. Default 5432. */
  readonly port?: number;
  /** The name of the user. */
  readonly user?: string;
  /** The password, or a function that gives it. */
  readonly password?: string | (() => string | Promise<string>);
  /** The name of the database. */
  readonly database?: string;
  /** TLS: true, or the options of `node:tls`. */
  readonly ssl?: boolean | object;
  /** How many milliseconds the connecting may take; the store has a limit of its own. */
  readonly connectionTimeoutMillis?: number;
}
