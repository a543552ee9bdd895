// What tests of several hosts on one server share: the server, a proxy before it, and stores that are closed after each test.

import { Client } from "pg";
import { type PostgresOptions, postgres, type Schema, type Store } from "signalbox/store";
import { afterAll, afterEach, beforeAll } from "vitest";
import { type PostgresConnection, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { type PostgresProxy, startProxy } from "../../support/postgres-proxy.js";
import { storeContext, type TestContext } from "../../support/store-context.js";

export const turn = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve));

export class PostgresBench {
  server!: PostgresServer;
  proxy!: PostgresProxy;
  readonly #schema: Schema;
  readonly #open: Store[] = [];
  #places = 0;

  /** Starts a server before the tests of a block, and stops it after them. */
  constructor(schema: Schema) {
    this.#schema = schema;
    beforeAll(async () => {
      this.server = await startPostgres();
      this.proxy = await startProxy(this.server);
    });
    afterEach(async () => {
      this.proxy.refuses = false;
      this.proxy.deaf = false;
      for (const store of this.#open.splice(0)) await store.close();
    });
    afterAll(async () => {
      await this.proxy.stop();
      await this.server.stop();
    });
  }

  /** The name of a fresh schema of the database. */
  place(): string {
    return `${this.#schema.name}_${++this.#places}`;
  }

  /** Opens a store that is closed after the test. */
  async opened(
    connection: PostgresConnection,
    options: PostgresOptions,
    context: TestContext = storeContext(),
    schema: Schema = this.#schema,
  ): Promise<Store> {
    const store = await postgres(connection, options).open([schema], context);
    this.#open.push(store);
    return store;
  }

  /** The rows of a statement, on a connection of its own. */
  async sql(text: string): Promise<readonly unknown[]> {
    const client = new Client(this.server.connection);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }
}
