// The kinds of queues that the suite is run on.

import type { PGlite } from "@electric-sql/pglite";
import { memory, pglite, postgres, sqlite } from "signalbox/store";
import { afterAll, beforeAll } from "vitest";
import { jetstream } from "../../../lib/pipeline/messages/jetstream.js";
import type { QueuesOptions } from "../../../lib/pipeline/queues/queues.js";
import { newFolder } from "../../store/sqlite/support.js";
import { describeNats, type NatsServer, startNats } from "../../support/nats.js";
import { runsOnPglite, sharedPglite } from "../../support/pglite.js";
import { describePostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";

/** A place for queues. */
export interface QueuePlace {
  /** A way to it: as one process has it. */
  open(): Promise<QueuesOptions>;
  dispose(): Promise<void>;
}

export interface QueueKind {
  make(): Promise<QueuePlace>;
  /** Several processes use it at the same time. */
  readonly shared: boolean;
}

const nothing = async (): Promise<void> => undefined;

/** Runs a suite on each kind; see {@link runsOnPglite} about `proving`. */
export function everyKind(proving: boolean, suite: (name: string, kind: QueueKind) => void): void {
  suite("in memory", {
    shared: false,
    async make() {
      const store = memory();
      return { open: async () => ({ store }), dispose: nothing };
    },
  });

  suite("in shared memory", {
    shared: true,
    async make() {
      const store = memory({ shared: true });
      return { open: async () => ({ store }), dispose: nothing };
    },
  });

  suite("on SQLite", {
    shared: false,
    async make() {
      const folder = newFolder();
      const store = sqlite(folder.file("queues.db"), { thread: false, durability: "process-kill" });
      return { open: async () => ({ store }), dispose: async () => folder[Symbol.dispose]() };
    },
  });

  if (runsOnPglite(proving)) {
    let database: PGlite;
    beforeAll(async () => {
      database = await sharedPglite();
    });

    suite("on PGlite", {
      shared: false,
      async make() {
        const store = pglite(database, { schema: "queues" });
        return { open: async () => ({ store }), dispose: nothing };
      },
    });
  }

  describePostgres("with a server", () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres();
    });
    afterAll(() => server.stop());

    suite("on PostgreSQL", {
      shared: true,
      make: async () => ({
        open: async () => ({ store: postgres(server.connection, { schema: "queues" }) }),
        dispose: nothing,
      }),
    });
  });

  describeNats("with a broker", () => {
    let server: NatsServer;
    let places = 0;
    beforeAll(async () => {
      server = await startNats();
    });
    afterAll(() => server.stop());

    suite("on JetStream and SQLite", {
      shared: false,
      async make() {
        const folder = newFolder();
        const store = sqlite(folder.file("queues.db"), { thread: false, durability: "process-kill" });
        const prefix = `sqlite${++places}`;
        return {
          open: async () => ({ store, carrier: jetstream({ servers: server.address, prefix }) }),
          dispose: async () => folder[Symbol.dispose](),
        };
      },
    });

    suite("on JetStream and a store that several share", {
      shared: true,
      async make() {
        const store = memory({ shared: true });
        const prefix = `shared${++places}`;
        return {
          open: async () => ({ store, carrier: jetstream({ servers: server.address, prefix }) }),
          dispose: nothing,
        };
      },
    });
  });
}
