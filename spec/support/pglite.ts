// The PGlite database of a test process. It takes seconds to start, so all specs of the process share it, each in schemas of its own.

import { PGlite } from "@electric-sql/pglite";

let database: Promise<PGlite> | undefined;

/** The database, started by the first who asks. It ends with the process: nobody closes it. */
export function sharedPglite(): Promise<PGlite> {
  database ??= PGlite.create();
  return database;
}
