import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { Client } from "pg";
import { System } from "signalbox";
import { openStore, pglite, postgres, type SqlRow, type StoreSource, sqlite } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { UnwritableError } from "../../../lib/pipeline/adapters/errors.js";
import { postgresTarget, type SqlTarget, sqliteTarget } from "../../../lib/pipeline/adapters/sql-port.js";
import { sqlUpsert } from "../../../lib/pipeline/adapters/sql-upsert.js";
import type { BatchContext } from "../../../lib/pipeline/definition/adapter.js";
import { runsOnPglite, sharedPglite } from "../../support/pglite.js";
import { noPostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";
import { cleanup } from "./support.js";

const after = cleanup();

let server: PostgresServer;
beforeAll(async () => {
  if (noPostgres === undefined) server = await startPostgres();
});
afterAll(() => server?.stop());

interface Strike {
  readonly airport: string;
  readonly n?: number;
  readonly rev: number;
}
const TABLE = 'create table "odd ""table" (airport text primary key, n integer, rev integer)';

/** A store of signalbox as a database. */
async function ofStore(source: StoreSource, targetOf: typeof sqliteTarget | typeof postgresTarget) {
  const system = new System({ name: "report" });
  const store = await openStore(system, source, []);
  after.add(() => store.close().then(() => system.stop()));
  const execute = (sql: string) => store.transaction((tx) => tx.execute<SqlRow>(sql));
  await execute('drop table if exists "odd ""table"');
  await execute(TABLE);
  return {
    target: targetOf(store),
    rows: async () =>
      (await execute('select * from "odd ""table" order by airport')).rows.map((row) => ({ ...row })),
  };
}

const onServer = {
  "a store on PostgreSQL": async () => ofStore(postgres(server.connection), postgresTarget),
  postgres: async () => {
    const client = new Client(server.connection);
    await client.connect();
    after.add(() => client.end());
    await client.query(`drop table if exists "odd ""table"; ${TABLE}`);
    return {
      target: postgresTarget(client),
      rows: async () => (await client.query('select * from "odd ""table" order by airport')).rows,
    };
  },
};

const onPglite = {
  "a store on PGlite": async () => ofStore(pglite(await sharedPglite()), postgresTarget),
  PGlite: async () => {
    const database = await sharedPglite();
    await database.exec(`drop table if exists "odd ""table"; ${TABLE}`);
    return {
      target: postgresTarget(database),
      rows: async () => (await database.query('select * from "odd ""table" order by airport')).rows,
    };
  },
};

const kinds = {
  "a store on SQLite": () =>
    ofStore(sqlite(join(mkdtempSync(join(tmpdir(), "upsert-")), "report.db")), sqliteTarget),
  sqlite: async () => {
    const database = new Database(":memory:");
    after.add(() => void database.close());
    database.exec(TABLE);
    return {
      target: sqliteTarget(database),
      rows: async () => database.prepare('select * from "odd ""table" order by airport').all(),
    };
  },
  ...(noPostgres === undefined && onServer),
  ...(runsOnPglite(proving) && onPglite),
};

async function write<T extends object>(adapter: ReturnType<typeof sqlUpsert<T>>, values: readonly unknown[]) {
  const failed: [number, unknown][] = [];
  const ctx = { fail: (i: number, error: unknown) => failed.push([i, error]) };
  const written = await adapter.processBatch(values as readonly T[], ctx as unknown as BatchContext);
  return { written, failed };
}
const columns = ["airport", "n", "rev"] as const;

describe.each(Object.entries(kinds))("an upsert into %s", (_kind, open) => {
  test("writes a batch by its key, and changes nothing when it comes again [Y98]", async () => {
    const { target, rows } = await open();
    const save = sqlUpsert<Strike>("save", { target, table: 'odd "table', key: ["airport"], columns });
    const batch = [
      { airport: "BER", n: 1, rev: 1 },
      { airport: "CGN", rev: 1 },
      { airport: "BER", n: 2, rev: 2 },
    ];
    for (let n = 0; n < 2; n++) expect((await write(save, batch)).written).toEqual(batch);
    expect(await rows()).toEqual([
      { airport: "BER", n: 2, rev: 2 },
      { airport: "CGN", n: null, rev: 1 },
    ]);
  });

  test("keeps the newest version, in a batch and in the table [Y99]", async () => {
    const { target, rows } = await open();
    const table = 'odd "table';
    const save = sqlUpsert<Strike>("save", { target, table, key: ["airport"], columns, version: "rev" });
    await write(save, [
      { airport: "BER", n: 5, rev: 5 },
      { airport: "BER", n: 3, rev: 3 },
    ]);
    await write(save, [{ airport: "BER", n: 4, rev: 4 }]);
    expect(await rows()).toEqual([{ airport: "BER", n: 5, rev: 5 }]);
  });

  test("fails a value alone that has no key", async () => {
    const { target, rows } = await open();
    const save = sqlUpsert<Strike>("save", { target, table: 'odd "table', key: ["airport"], columns });
    const good = { airport: "BER", n: 1, rev: 1 };
    const { written, failed } = await write(save, [
      { n: 1 },
      good,
      null,
      Object.create({ airport: "inherited" }),
    ]);
    expect(written).toEqual([good]);
    expect(failed.map(([i]) => i)).toEqual([0, 2, 3]);
    for (const [, error] of failed) expect(error).toBeInstanceOf(UnwritableError);
    expect(await rows()).toHaveLength(1);
  });
});

test("SQLite gets booleans, Dates and objects as it can store them", async () => {
  const database = new Database(":memory:");
  after.add(() => void database.close());
  database.exec("create table t (k text primary key, v)");
  const save = sqlUpsert<{ k: string; v: unknown }>("save", {
    target: sqliteTarget(database),
    table: "t",
    key: ["k"],
    columns: ["k", "v"],
  });
  await write(save, [
    { k: "a", v: true },
    { k: "b", v: new Date(0) },
    { k: "c", v: { d: 1 } },
  ]);
  expect(database.prepare("select v from t order by k").all()).toEqual([
    { v: 1 },
    { v: "1970-01-01T00:00:00.000Z" },
    { v: '{"d":1}' },
  ]);
});

test("a table of keys alone is written, and what a database refuses is thrown", async () => {
  const asked: string[] = [];
  const target: SqlTarget = {
    placeholder: (n) => `:${n}`,
    run: (sql) => {
      asked.push(sql);
      throw new Error("no such table");
    },
  };
  const save = sqlUpsert<{ a: number }>("save", { target, table: "s.t", key: ["a"], columns: ["a"] });
  await expect(write(save, [{ a: 1 }, { a: 2 }])).rejects.toThrow("no such table");
  expect(asked).toEqual(['insert into "s"."t" ("a") values (:1), (:2) on conflict ("a") do nothing']);
});

test("options of an upsert are checked, each with its path", () => {
  const good = {
    target: sqliteTarget({ prepare: () => ({ run: () => 0 }) }),
    table: "t",
    key: ["a"],
    columns: ["a"],
  };
  const wrong: [object, string][] = [
    [{ target: {} }, "target"],
    [{ table: "" }, "table"],
    [{ key: [] }, "key"],
    [{ key: ["b"] }, "key[0]"],
    [{ columns: ["a", "a"] }, "columns"],
    [{ version: "b" }, "version"],
    [{ batch: { size: 40_000 } }, "batch.size"],
    [{ batch: { sise: 1 } }, "batch.sise"],
  ];
  for (const [options, path] of wrong)
    expect(() => sqlUpsert("save", { ...good, ...options } as never)).toThrow(path);
});
