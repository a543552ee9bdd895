// The suite for every store, on a PostgreSQL server and on PGlite.

import type { PGlite } from "@electric-sql/pglite";
import { Client } from "pg";
import { type PostgresOptions, pglite, postgres } from "signalbox/store";
import { afterAll, beforeAll } from "vitest";
import { sharedPglite } from "../../support/pglite.js";
import { describePostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { sized } from "../../support/proof.js";
import { conformance, type Place } from "../conformance.js";

/** Each place has a schema of its own on one server. */
let places = 0;
const schemas = new WeakMap<Place, string>();

/** Makes all claims older, as if the server's clock had moved on. */
const aged = (schema: string, ms: number): string =>
  `update "${schema}"."$claims" set expires = expires - ${ms}, ttl = ttl - ${ms}`;

describePostgres("with a server", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  conformance("postgres", {
    runs: sized(6, 0.01),
    async make() {
      const options: PostgresOptions = { schema: `place_${++places}` };
      const place: Place = {
        source: postgres(server.connection, options),
        other: postgres(server.url, options),
        dispose: async () => undefined,
      };
      schemas.set(place, options.schema as string);
      return place;
    },
    async advance(place, ms) {
      const client = new Client(server.connection);
      await client.connect();
      await client.query(aged(schemas.get(place) as string, ms));
      await client.end();
    },
  });
});

let database: PGlite;
beforeAll(async () => {
  database = await sharedPglite();
});

conformance("PGlite", {
  runs: sized(2, 0.001),
  async make() {
    const options: PostgresOptions = { schema: `place_${++places}` };
    const place: Place = { source: pglite(database, options), dispose: async () => undefined };
    schemas.set(place, options.schema as string);
    return place;
  },
  async advance(place, ms) {
    await database.exec(aged(schemas.get(place) as string, ms));
  },
});
