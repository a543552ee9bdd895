// The PostgreSQL server of a run of benchmarks: one for all sides, with fsync, each side in a database of its own.

import { Client } from "pg";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";

/** How the processes of a run find the server. */
const VARIABLE = "SIGNALBOX_BENCH_POSTGRES";

/** Starts the server of this run, for this process and its children. Undefined where there is no PostgreSQL. */
export async function startBenchPostgres(): Promise<PostgresServer | undefined> {
  if (noPostgres !== undefined) return undefined;
  const server = await startPostgres({ fsync: true });
  process.env[VARIABLE] = server.connection.host;
  return server;
}

/** A database of the run's server, made if it is not there. Returns its address. */
export async function benchPostgres(database: string): Promise<string> {
  const host = process.env[VARIABLE];
  if (host === undefined) throw new Error("the run has no PostgreSQL server");
  const client = new Client({ host, port: 5432, user: "test", database: "postgres" });
  await client.connect();
  try {
    const found = await client.query("select 1 from pg_database where datname = $1", [database]);
    if (found.rowCount === 0) await client.query(`create database ${database}`);
  } finally {
    await client.end();
  }
  return `postgresql://test@localhost:5432/${database}?host=${encodeURIComponent(host)}`;
}
