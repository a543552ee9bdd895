// Singletons of programs that are killed and stopped, over a PostgreSQL server.

import { defineTable } from "signalbox/store";
import { expect, it } from "vitest";
import { PostgresBench } from "../../store/postgres/bench.js";
import { type Child, childProgram } from "../../support/child-program.js";
import { describePostgres } from "../../support/postgres.js";
import { proving } from "../../support/proof.js";

const names = defineTable("names", { columns: { id: "text" }, key: ["id"] });
const schema = { name: "contenders", version: 1, tables: [names] };

describePostgres("a singleton of programs on a server", () => {
  const bench = new PostgresBench(schema);

  it("gives its lease back when its system stops, and its process ends when the store is closed then [N1435]", async () => {
    const place = bench.place();
    const program = await childProgram(new URL("../../support/programs/contender.ts", import.meta.url));
    // Nobody waits for the end of such a lease.
    const args = [JSON.stringify(bench.server.connection), place] as const;
    const contend = (name: string): Child => program.start(...args, name, "86400000");
    try {
      const a = contend("a");
      await a.prints("a wrote");
      const b = contend("b");
      await b.prints("b contends");
      a.signal("SIGUSR2");
      await a.prints("a stopped");
      await b.prints("b wrote");
      a.signal("SIGUSR2");
      // By itself: no connection, and no timer of the store, is left.
      expect(await a.ended).toMatchObject({ code: 0, signal: null });
      b.signal("SIGUSR2");
      await b.prints("b stopped");
      b.signal("SIGUSR2");
      expect(await b.ended).toMatchObject({ code: 0, signal: null });
    } finally {
      program.remove();
    }
  });

  // It waits for real leases.
  it.runIf(proving)(
    "goes on elsewhere after kill -9, and after SIGSTOP; the one that was stopped ends when it goes on [N1084]",
    async () => {
      const place = bench.place();
      const program = await childProgram(new URL("../../support/programs/contender.ts", import.meta.url));
      try {
        const connection = JSON.stringify(bench.server.connection);
        const a = program.start(connection, place, "a");
        await a.prints("a wrote");
        const b = program.start(connection, place, "b");
        a.signal("SIGKILL");
        await b.prints("b wrote");
        const c = program.start(connection, place, "c");
        b.signal("SIGSTOP");
        await c.prints("c wrote");
        b.signal("SIGCONT");
        await b.prints("b lost");
        b.signal("SIGKILL");
        c.signal("SIGKILL");
        const store = await bench.opened(bench.server.connection, { schema: place });
        const rows = await store.scan(names, { limit: 100_000 });
        expect(new Set(rows.map(({ id }) => id.split(".")[0])).size).toBe(3);
      } finally {
        program.remove();
      }
    },
  );
});
