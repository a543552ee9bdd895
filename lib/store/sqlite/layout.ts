// The layout of a file: the library's own tables with their format, and the tables of schemas with their versions. Works out the
// steps that lead from what a file has to what the program knows; all of them run in one transaction.

import type { Migration, Schema } from "../schema.js";
import { migrationsFrom } from "../schema-versions.js";
import type { Table } from "../table.js";
import type { Query, Rows, StatementBatch } from "./jobs.js";
import { PREFIX, quoted, TableSql } from "./table-sql.js";

/** Marks a file as a store: "Sigb" in ASCII. */
export const APPLICATION_ID = 0x53696762;
/** The newest format of the library's own tables. */
export const FORMAT = 1;

// Names of tables of schemas begin with a letter, so these are no table of a schema.
export const SCHEMAS: string = quoted(`${PREFIX}_schemas`);
export const CLAIMS: string = quoted(`${PREFIX}_claims`);

/** By the format that they lead to: 1 leads from an empty file. */
const FORMATS: readonly (readonly string[])[] = [
  [],
  [
    `create table ${SCHEMAS} (name text not null primary key, version integer not null) strict, without rowid`,
    `create table ${CLAIMS} (name text not null primary key, token integer not null, owner text not null, held integer not null) strict, without rowid`,
    `pragma application_id = ${APPLICATION_ID}`,
  ],
];

const plain = (sql: string): StatementBatch => ({
  head: sql,
  tuple: "",
  tail: "",
  most: 1,
  width: 0,
  values: [],
});

/** From the format of the file to that of this release. */
export function formatSteps(found: number): StatementBatch[] {
  const steps = FORMATS.slice(found + 1).flat();
  return steps.length === 0 ? [] : [...steps, `pragma user_version = ${FORMAT}`].map(plain);
}

/** The facts that {@link layoutSteps} needs about a file that has the present format. */
export const LAYOUT: readonly Query[] = [
  { sql: `select name, version from ${SCHEMAS}`, parameters: [] },
  {
    sql: `select m.name as "table", c.name as "column" from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' and m.name like ?`,
    parameters: [`${PREFIX}%`],
  },
  {
    sql: `select name, sql from sqlite_master where type = 'index' and sql is not null and name like ?`,
    parameters: [`${PREFIX}%`],
  },
];

interface Known {
  readonly name: string;
  readonly version: number;
}
interface Column {
  readonly table: string;
  readonly column: string;
}
interface Index {
  readonly name: string;
  readonly sql: string;
}

/**
 * From the versions that the file has to those of the schemas. New tables, columns and indexes first, then the stated migrations.
 *
 * @throws StoreVersionError when the file has a newer version of a schema, or one from before the first release
 */
export function layoutSteps(
  label: string,
  schemas: readonly Schema[],
  found: readonly Rows[],
): StatementBatch[] {
  const [known, columns, indexes] = found as unknown as readonly [
    readonly Known[],
    readonly Column[],
    readonly Index[],
  ];
  const versions = new Map(known.map((row) => [row.name, row.version]));
  const migrations = new Map<Schema, readonly Migration[]>();
  const has = new Map<string, Set<string>>();
  for (const { table, column } of columns) has.set(table, (has.get(table) ?? new Set()).add(column));
  const hasTable = (name: string): boolean => has.has(PREFIX + name);
  // All are looked at before anything is changed.
  for (const schema of schemas)
    migrations.set(schema, migrationsFrom(label, schema, versions.get(schema.name), hasTable));
  const made = new Map(indexes.map((row) => [row.name, row.sql]));
  const steps: StatementBatch[] = [];
  for (const schema of schemas) {
    for (const table of schema.tables) steps.push(...tableSteps(table, has, made));
    for (const { sql = [], drop = [] } of migrations.get(schema) ?? [])
      steps.push(
        ...sql.map(plain),
        ...drop.map((name) => plain(`drop table if exists ${quoted(PREFIX + name)}`)),
      );
    if (versions.get(schema.name) === schema.version) continue;
    const head = `insert into ${SCHEMAS} (name, version) values (?, ?) on conflict (name) do update set version = excluded.version`;
    steps.push({ head, tuple: "", tail: "", most: 1, width: 2, values: [schema.name, schema.version] });
  }
  return steps;
}

function tableSteps(
  table: Table,
  has: ReadonlyMap<string, Set<string>>,
  made: ReadonlyMap<string, string>,
): StatementBatch[] {
  const sql = new TableSql(table);
  const columns = has.get(sql.plainName);
  const steps: StatementBatch[] =
    columns === undefined
      ? [plain(sql.create())]
      : sql.columns.filter((name) => !columns.has(name)).map((name) => plain(sql.addColumn(name)));
  for (const [name, text] of sql.indexes()) {
    const before = made.get(name);
    // SQLite keeps the text, with the first words in capitals.
    if (before?.toLowerCase() === text.toLowerCase()) continue;
    if (before !== undefined) steps.push(plain(`drop index ${quoted(name)}`));
    steps.push(plain(text));
  }
  return steps;
}
