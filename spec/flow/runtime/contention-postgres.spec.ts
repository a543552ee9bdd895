// Transfers between few accounts, by flows of several hosts on one server, with the defaults of store and hospital.

import { Client } from "pg";
import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { postgres } from "signalbox/store";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describePostgres, type PostgresServer, startPostgres } from "../../support/postgres.js";

const ACCOUNTS = 10;
const HOSTS = 3;
const TRANSFERS = 50;

describePostgres("flows whose transactions are in each other's way", () => {
  let server: PostgresServer;
  let client: Client;
  beforeAll(async () => {
    server = await startPostgres();
    client = new Client(server.connection);
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await server.stop();
  });

  it("all complete, move each amount once, and none comes to the hospital [J244]", async () => {
    await client.query("create table accounts (id int primary key, balance int not null)");
    await client.query("create table moves (id text primary key)");
    await client.query(`insert into accounts select i, 1000 from generate_series(0, ${ACCOUNTS - 1}) i`);
    const transfer = defineFlow("transfer", (flow, n: number) =>
      flow.transaction("move", async (tx) => {
        const [from, to] = [n % ACCOUNTS, (n * 7 + 3) % ACCOUNTS];
        // All accounts are read, so that each transfer is in the way of each other one.
        await tx.execute("select sum(balance) from accounts");
        await tx.execute("update accounts set balance = balance - 1 where id = $1", [from]);
        await tx.execute("update accounts set balance = balance + 1 where id = $1", [to]);
        await tx.execute("insert into moves values ($1)", [flow.id()]);
        return n;
      }),
    );
    const visits: unknown[] = [];
    const systems = Array.from({ length: HOSTS }, () => new System({ report: false }));
    const results = await Promise.all(
      systems.map(async (system, h) => {
        system.events.on("hospital", (report) => visits.push(report));
        const store = postgres(server.connection);
        const flows = await system.start(flowHost({ store, flows: [transfer] }));
        const runs = Array.from({ length: TRANSFERS }, (_, i) =>
          flows.start(transfer, i, { id: `t-${h}-${i}` }).then((run) => run.result({ timeoutMs: 300_000 })),
        );
        return Promise.all(runs);
      }),
    );
    for (const system of systems) await system.stop();
    const expected = Array.from({ length: TRANSFERS }, (_, i) => i);
    expect(results).toEqual(systems.map(() => expected));
    expect(visits).toEqual([]);
    const { rows } = await client.query(
      "select (select sum(balance)::int from accounts) total, (select count(*)::int from moves) moved",
    );
    expect(rows).toEqual([{ total: 1000 * ACCOUNTS, moved: HOSTS * TRANSFERS }]);
  });

  it("that a lock keeps out for longer than a transaction may take go on by themselves, and their callers wait [J245]", async () => {
    await client.query("create table held (id int primary key, n int not null)");
    await client.query("insert into held values (1, 0)");
    await client.query("begin");
    await client.query("update held set n = 0");
    let late = 0;
    let isSeen = (): void => undefined;
    const seen = new Promise<void>((resolve) => {
      isSeen = resolve;
    });
    const count = defineFlow("count", (flow) =>
      flow.transaction("add", async (tx) => {
        if (++late === 3) isSeen();
        await tx.execute("update held set n = n + 1");
        return "added";
      }),
    );
    await using system = new System({ report: false });
    const visits: unknown[] = [];
    system.events.on("hospital", (report) => visits.push(report));
    const store = postgres(server.connection, { schema: "held_back", transactionMs: 200, lockMs: 150 });
    const flows = await system.start(flowHost({ store, flows: [count] }));
    const result = (await flows.start(count, undefined)).result({ timeoutMs: 60_000 });
    await seen;
    await client.query("commit");
    expect(await result).toBe("added");
    expect(visits).toEqual([]);
    expect((await client.query("select n from held")).rows).toEqual([{ n: 1 }]);
  });
});
