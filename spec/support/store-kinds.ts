// The kinds of store on which a count must not depend: memory, also shared, SQLite, PGlite, and PostgreSQL where the machine has it.

import type { PGlite } from "@electric-sql/pglite";
import { memory, pglite, postgres, type StoreSource, sqlite } from "signalbox/store";
import { afterAll, beforeAll } from "vitest";
import { newFolder } from "../store/sqlite/support.js";
import { runsOnPglite, sharedPglite } from "./pglite.js";
import { noPostgres, type PostgresServer, startPostgres } from "./postgres.js";

/** A kind of store. */
export interface StoreKind {
  readonly name: string;
  /** The same store each time, empty before the first one. */
  readonly source: () => StoreSource;
}

/**
 * Called once at the top of a spec.
 * @param name - of the file, and of the schema of a database
 * @param proving - see {@link runsOnPglite}
 */
export function storeKinds(name: string, proving: boolean): readonly StoreKind[] {
  let server: PostgresServer | undefined;
  let database: PGlite;
  const folder = newFolder();
  beforeAll(async () => {
    if (runsOnPglite(proving)) database = await sharedPglite();
    if (noPostgres === undefined) server = await startPostgres();
  });
  afterAll(async () => {
    await server?.stop();
    folder[Symbol.dispose]();
  });
  const inMemory = memory();
  const shared = memory({ shared: true });
  return [
    { name: "memory", source: () => inMemory },
    { name: "shared memory", source: () => shared },
    { name: "SQLite", source: () => sqlite(folder.file(`${name}.db`), { thread: false }) },
    ...(runsOnPglite(proving) ? [{ name: "PGlite", source: () => pglite(database, { schema: name }) }] : []),
    ...(noPostgres === undefined
      ? [
          {
            name: "PostgreSQL",
            source: () => postgres((server as PostgresServer).connection, { schema: name }),
          },
        ]
      : []),
  ];
}
