// The suite for every store, on a PostgreSQL server. For PGlite see pglite.spec.ts.

import { Client } from "pg";
import { type PostgresOptions, postgres } from "signalbox/store";
import { afterAll, beforeAll } from "vitest";
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
    runs: sized(3, 0.01, 6),
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
