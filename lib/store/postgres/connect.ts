// Drivers of stores on PostgreSQL, by the kind of their connections.

import type { DriverHost, StoreDriver } from "../driver.js";
import { PostgresDriver } from "./driver.js";
import { pgConnector } from "./pg.js";
import { type PgliteDatabase, pgliteConnector } from "./pglite.js";
import type { PostgresConnection, PostgresSettings } from "./settings.js";

/** Connections by `pg`. */
export function toServer(
  host: DriverHost,
  label: string,
  client: PostgresConnection,
  settings: PostgresSettings,
): StoreDriver {
  const { connectMs, answerMs, prepare } = settings;
  const connector = pgConnector(label, { client, connectMs, answerMs, prepare, setUp: setUp(settings) });
  return new PostgresDriver(host, { connector, settings });
}

/** The one connection of a PGlite database. */
export function toPglite(
  host: DriverHost,
  label: string,
  database: PgliteDatabase,
  settings: PostgresSettings,
): StoreDriver {
  return new PostgresDriver(host, { connector: pgliteConnector(label, database, setUp(settings)), settings });
}

/** The settings of each session. */
function setUp({ statementMs, lockMs, idleInTransactionMs }: PostgresSettings): string {
  return [
    "set application_name = 'signalbox'",
    `set statement_timeout = ${Math.ceil(statementMs)}`,
    `set lock_timeout = ${Math.ceil(lockMs)}`,
    `set idle_in_transaction_session_timeout = ${Math.ceil(idleInTransactionMs)}`,
    "set bytea_output = 'hex'",
    // Read as text, floating point numbers keep all their digits.
    "set extra_float_digits = 1",
    // An acknowledged commit is durable, even if the server's default is another.
    "set synchronous_commit = on",
    "set default_transaction_read_only = off",
  ].join("; ");
}
