// The PGlite database of a test process. It takes seconds to start, so all specs of the process share it, each in schemas of its own.

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PGlite } from "@electric-sql/pglite";
import { noPostgres } from "./postgres.js";

let database: Promise<PGlite> | undefined;

/**
 * Whether a suite for several kinds of store runs on PGlite, too: in `npm run prove`, and where there is no server of PostgreSQL. With a
 * server, `npm test` leaves PGlite to `npm run prove`, also in suites that do not run on the server. The store's own suite always
 * runs on PGlite.
 */
export function runsOnPglite(proving: boolean): boolean {
  return proving || noPostgres !== undefined;
}

/** The database, started by the first who asks. It ends with the process: nobody closes it. */
export function sharedPglite(): Promise<PGlite> {
  database ??= create();
  return database;
}

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A new database as a file: to make one takes four times as long as to load one. */
function template(): string {
  const { version } = JSON.parse(
    readFileSync(`${root}node_modules/@electric-sql/pglite/package.json`, "utf8"),
  ) as { version: string };
  return `${root}.build/pglite-${version}.tar`;
}

async function create(): Promise<PGlite> {
  const file = template();
  if (existsSync(file)) return PGlite.create({ loadDataDir: new Blob([readFileSync(file)]) });
  const made = await PGlite.create();
  const data = await made.dumpDataDir("none");
  mkdirSync(`${root}.build`, { recursive: true });
  // Other processes see all of it, or nothing.
  writeFileSync(`${file}.${process.pid}`, Buffer.from(await data.arrayBuffer()));
  renameSync(`${file}.${process.pid}`, file);
  return made;
}
