// The PGlite database of a test process. It takes seconds to start, so all specs of the process share it, each in schemas of its own.

import { PGlite } from "@electric-sql/pglite";
import { noPostgres } from "./postgres.js";

let database: Promise<PGlite> | undefined;

/**
 * Whether a suite for several kinds of store runs on PGlite, too. In `npm test` a server stands for it where there is one. The store's own
 * suite always runs on it.
 */
export function runsOnPglite(proving: boolean): boolean {
  return proving || noPostgres !== undefined;
}

/** The database, started by the first who asks. It ends with the process: nobody closes it. */
export function sharedPglite(): Promise<PGlite> {
  database ??= PGlite.create();
  return database;
}
