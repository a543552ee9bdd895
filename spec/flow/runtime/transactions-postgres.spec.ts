// A server that goes away in the middle of a flow's transaction, for longer than a transaction may take.

import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { openStore, postgres } from "signalbox/store";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describePostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";
import { type PostgresProxy, startProxy } from "../../support/postgres-proxy.js";

describePostgres("a server that goes away in the middle of a flow's transaction", () => {
  let server: PostgresServer;
  let proxy: PostgresProxy;
  beforeAll(async () => {
    server = await startPostgres();
    proxy = await startProxy(server);
  });
  afterAll(async () => {
    await proxy.stop();
    await server.stop();
  });

  it.each(["refuses", "silent"] as const)(
    "%s: the flow goes on when it is back, and books once",
    async (how) => {
      const seats = `seats_${how}`;
      const limits = { transactionMs: 500, statementMs: 600, answerMs: 700 };
      const store = postgres(proxy.connection, { schema: how, ...limits });
      let runs = 0;
      const book = defineFlow("book", (flow, seat: number) =>
        flow.transaction("seat", async (tx) => {
          if (++runs === 1) {
            proxy[how] = true;
            if (how === "refuses") proxy.cutAll();
          }
          const inserting = tx.execute(`insert into ${seats} values ($1)`, [seat]);
          // Told after the time of the transaction: the host tries again by itself, or the hospital lets it.
          inserting.catch(() => {
            proxy[how] = false;
          });
          await inserting;
          return seat;
        }),
      );
      await using system = new System({ report: false });
      const visits: string[] = [];
      system.events.on("hospital", ({ type }) => {
        visits.push(type);
        proxy[how] = false;
      });
      // A busy machine may need a second visit.
      const hospital = { backoff: { minMs: 10, maxMs: 100 } };
      const flows = await system.start(flowHost({ store, flows: [book], hospital }));
      const reader = await openStore(system, postgres(server.connection, { schema: how }), []);
      await reader.transaction((tx) => tx.execute(`create table ${seats} (seat int)`));
      const run = await flows.start(book, 7);
      expect(await run.result({ timeoutMs: 300_000 })).toBe(7);
      const { rows } = await reader.transaction((tx) => tx.execute(`select seat from ${seats}`));
      expect(rows).toEqual([{ seat: 7 }]);
      expect(visits.filter((type) => type !== "discharged")).toEqual([]);
      expect(runs).toBeGreaterThan(1);
      await reader.close();
    },
  );
});
