// Transactions of users that are in each other's way, and whether people learn of it.

import { Client } from "pg";
import { postgres } from "signalbox/store";
import { expect, it } from "vitest";
import { describePostgres, startPostgres } from "../../support/postgres.js";
import { storeContext } from "../../support/store-context.js";

/** How often others are faster than the transaction. */
const OVERTAKEN = 5;

describePostgres("a transaction that is overtaken again and again", () => {
  it("leads to one warning, which names its statement, and is committed in the end [K420]", async () => {
    await using server = await startPostgres();
    const other = new Client(server.connection);
    await other.connect();
    await other.query("create table hot (id int primary key, n int)");
    await other.query("insert into hot values (1, 0)");
    const context = storeContext();
    const store = await postgres(server.connection).open([], context);
    for (let round = 1; round <= 2; round++) {
      let attempts = 0;
      await store.transaction(async (tx) => {
        await tx.execute("select n from hot where id = 1");
        if (++attempts <= OVERTAKEN) await other.query("update hot set n = n + 1 where id = 1");
        await tx.execute("update hot  set n = n + 100 where id = 1");
      });
      expect(attempts).toBe(OVERTAKEN + 1);
    }
    expect(context.warnings).toEqual([
      {
        code: "store-contention",
        message: expect.stringContaining("at: update hot set n = n + 100 where id = 1."),
      },
    ]);
    expect((await other.query("select n from hot")).rows).toEqual([{ n: 2 * (100 + OVERTAKEN) }]);
    await store.close();
    await other.end();
  });
});
