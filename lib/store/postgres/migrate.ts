// Brings the tables of schemas to their versions, in one transaction and under a lock: two hosts that start together do it one after
// the other.

import { StoreVersionError } from "../errors.js";
import type { Schema } from "../schema.js";
import { checkSchemas, migrationsFrom } from "../schema-versions.js";
import type { Table } from "../table.js";
import { type Catalog, FORMAT } from "./catalog.js";
import type { Command, Connection, Received } from "./connection.js";
import { quoted, TableSql } from "./table-sql.js";

/** The connection and the tables of a migration. */
export interface Migrating {
  readonly connection: Connection;
  readonly catalog: Catalog;
  readonly label: string;
}

/**
 * Migrates within a transaction that the caller has begun, and commits.
 *
 * @throws StoreVersionError, OptionError, ServerError
 */
export async function migrate(on: Migrating, schemas: readonly Schema[]): Promise<void> {
  checkSchemas(schemas);
  const { connection, catalog, label } = on;
  // Groups of a release that knows the versions before end first, and find the new ones when they come again.
  await connection.send([{ text: `select pg_advisory_xact_lock(${catalog.lock}, 0)` }]);
  await createCatalog(on);
  const found = new Map((await rows(on, catalog.versions())) as [string, number][]);
  const format = found.get(FORMAT.schema);
  if (format !== undefined && format !== FORMAT.version)
    throw new StoreVersionError(label, "the store's own tables", format, FORMAT.version);
  if (format === undefined) await connection.send([catalog.setVersion(FORMAT.schema, FORMAT.version)]);
  for (const schema of schemas) await migrateSchema(on, schema, found.get(schema.name));
}

/** Names that are looked for, not created: a user of the server may have no right to create a schema that is there. */
async function createCatalog(on: Migrating): Promise<void> {
  const { connection, catalog } = on;
  const { namespace } = catalog;
  const [[isThere]] = (await rows(on, {
    text: "select to_regnamespace($1) is not null",
    values: [quoted(namespace)],
  })) as [[boolean]];
  if (!isThere) await connection.send([{ text: `create schema ${quoted(namespace)}` }]);
  if ((await columnsOf(on, "$schemas")).size > 0) return;
  for (const text of catalog.definitions()) await connection.send([{ text }]);
}

async function migrateSchema(on: Migrating, schema: Schema, found: number | undefined): Promise<void> {
  const { connection, catalog, label } = on;
  const there = new Set<string>();
  for (const name of schema.requires ?? []) if ((await columnsOf(on, name)).size > 0) there.add(name);
  const steps = migrationsFrom(label, schema, found, (name) => there.has(name));
  if (found === schema.version) return;
  for (const table of schema.tables) await createTable(on, table);
  for (const { drop = [], sql = [] } of steps) {
    for (const name of drop)
      await connection.send([{ text: `drop table if exists ${quoted(catalog.namespace)}.${quoted(name)}` }]);
    // Statements of a migration name tables without their namespace.
    if (sql.length > 0)
      await connection.send([{ text: `set local search_path = ${quoted(catalog.namespace)}, public` }]);
    for (const text of sql) await connection.send([{ text }]);
  }
  await connection.send([catalog.setVersion(schema.name, schema.version)]);
}

/** Creates a table with its indexes, or adds the columns and indexes that are new. */
async function createTable(on: Migrating, table: Table): Promise<void> {
  const { connection, catalog } = on;
  const sql = new TableSql(catalog.namespace, table);
  const there = await columnsOf(on, table.name);
  if (there.size === 0) await connection.send([{ text: sql.create() }]);
  else
    for (const column of Object.keys(table.columns)) {
      if (there.has(column)) continue;
      for (const definition of sql.definitions(column, true))
        await connection.send([{ text: `alter table ${sql.name} add column ${definition}` }]);
    }
  for (const text of sql.indexes()) await connection.send([{ text }]);
}

async function columnsOf(on: Migrating, table: string): Promise<Set<string>> {
  const found = await rows(on, {
    text: "select column_name::text from information_schema.columns where table_schema = $1 and table_name = $2",
    values: [on.catalog.namespace, table],
  });
  return new Set(found.map(([name]) => name as string));
}

async function rows({ connection }: Migrating, command: Command): Promise<readonly (readonly Received[])[]> {
  const [answer] = await connection.send([command]);
  return answer?.rows ?? [];
}
