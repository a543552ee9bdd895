// The table of errors on a real server: what it says in the middle of a flow's transaction, and what becomes of the flow. A server that is
// lost and a disk that is full are proofs: each has a server, or two, of its own.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { postgres, type SqlTransaction } from "signalbox/store";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  describePostgres,
  noStandby,
  type PostgresServer,
  startPostgres,
  startStandby,
} from "../../support/postgres.js";
import { startProxy } from "../../support/postgres-proxy.js";
import { proving } from "../../support/proof.js";
import { until } from "../../support/until.js";

/** How many flows are in a transaction when the server is lost. */
const FLOWS = 4;
/** How many connections to the standby they make before it writes. */
const READS = 5;

/** Other waits than the hospital's own, and nothing else that users would not have. */
const hospital = { backoff: { minMs: 10, maxMs: 50 } };

type Provoke = (tx: SqlTransaction, at: { readonly table: string; readonly pid: number }) => Promise<unknown>;

/** What the server itself says, by its own fault or somebody else's. */
const SERVERS = [
  ...["53000", "53100", "53200", "53300", "25006", "XX000", "58030", "57014", "55P03"],
  ...["40001", "40P01"],
] as const;
/** What it says of the user's statement. */
const USERS = ["23505", "23514", "22012", "42P01", "42703", "P0001"] as const;
const WAYS = ["passed on", "wrapped", "wrapped twice", "one of several"] as const;

describePostgres("an error of the server in a flow's transaction", () => {
  let server: PostgresServer;
  let admin: Client;
  let places = 0;
  const systems: System[] = [];
  beforeAll(async () => {
    server = await startPostgres({ settings: { max_connections: "40", deadlock_timeout: "10ms" } });
    admin = new Client(server.connection);
    admin.on("error", () => undefined);
    await admin.connect();
    await admin.query(`create function say(code text) returns int language plpgsql as $$
      begin raise exception 'said on purpose' using errcode = code; end $$`);
  });
  afterEach(async () => {
    for (const system of systems.splice(0)) await system.stop();
  });
  afterAll(async () => {
    await admin.end();
    await server.stop();
  });

  /** A flow whose first transaction meets the error, in the given way; later ones only book. */
  async function booked(
    provoke: Provoke,
    way: (typeof WAYS)[number] = "passed on",
    more = {},
  ): Promise<{
    readonly result: Promise<unknown>;
    readonly rows: () => Promise<number>;
    readonly runs: () => number;
  }> {
    const table = `booked_${++places}`;
    await admin.query(`create table ${table} (id int primary key, n int)`);
    await admin.query(`insert into ${table} values (0, 0), (-1, 0)`);
    let runs = 0;
    const book = defineFlow("book", (flow) =>
      flow.transaction("book", async (tx) => {
        await tx.execute(`insert into ${table} values (1, 1)`);
        if (++runs > 1) return "booked";
        const { rows } = await tx.execute<{ pid: number }>("select pg_backend_pid() pid");
        const failing = provoke(tx, { table, pid: rows[0]?.pid as number });
        if (way === "one of several") await Promise.any([failing]);
        await failing.catch((error: unknown) => {
          if (way === "passed on") throw error;
          const once = new Error("could not book", { cause: error });
          throw way === "wrapped" ? once : new Error("could not travel", { cause: once });
        });
        return "not in time";
      }),
    );
    const system = new System({ report: false });
    systems.push(system);
    const store = postgres(server.connection, { schema: `s_${places}`, ...more });
    const flows = await system.start(flowHost({ store, flows: [book], hospital }));
    const run = await flows.start(book, undefined);
    const result = run.result({ timeoutMs: 20_000 });
    result.catch(() => undefined);
    const rows = async (): Promise<number> => {
      const { rows: found } = await admin.query(`select count(*)::int n from ${table} where id = 1`);
      return found[0].n;
    };
    return { result, rows, runs: () => runs };
  }

  const say =
    (code: string): Provoke =>
    (tx) =>
      tx.execute("select say($1)", [code]);

  // Each code once, and each way; the other pairs are a proof.
  const inTurn = <T>(codes: readonly T[]) =>
    codes.map((code, i) => [code, WAYS[i % WAYS.length] as (typeof WAYS)[number]] as const);
  const allWays = WAYS.map((way) => ["55P03", way] as const);
  it.each([...inTurn(SERVERS), ...(proving ? allWays : [])])(
    "%s, %s: the flow runs again, and books once [J240]",
    async (code, way) => {
      const { result, rows, runs } = await booked(say(code), way);
      expect(await result).toBe("booked");
      expect(await rows()).toBe(1);
      expect(runs()).toBeGreaterThan(1);
    },
  );

  const both = USERS.flatMap((code) =>
    (["passed on", "wrapped"] as const).map((way) => [code, way] as const),
  );
  it.each(proving ? both : inTurn(USERS))(
    "%s of the user's statement, %s: the flow fails, as its code does [J241]",
    async (code, way) => {
      const { result, rows, runs } = await booked(say(code), way);
      await expect(result).rejects.toMatchObject({ code: "ERR_FLOW_FAILED" });
      expect(await rows()).toBe(0);
      expect(runs()).toBe(1);
    },
  );

  it("a constraint of the user's that is deferred to the commit fails the flow once [J241]", async () => {
    const { result, rows, runs } = await booked(async (tx, { table }) => {
      const late = `${table}_late`;
      await admin.query(
        `create table ${late} (n int, constraint once unique (n) deferrable initially deferred)`,
      );
      await tx.execute(`insert into ${late} values (1), (1)`);
    });
    await expect(result).rejects.toMatchObject({ code: "ERR_FLOW_FAILED" });
    expect(await rows()).toBe(0);
    expect(runs()).toBe(1);
  });

  /** Another client that does something, and then ends. */
  async function other<T>(act: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client(server.connection);
    client.on("error", () => undefined);
    await client.connect();
    try {
      return await act(client);
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Called once the statement of this session waits. */
  async function waits(pid: number, event: string): Promise<void> {
    for (;;) {
      const { rows } = await admin.query("select wait_event_type t from pg_stat_activity where pid = $1", [
        pid,
      ]);
      if (rows[0]?.t === event) return;
    }
  }

  const REAL: Readonly<Record<string, Provoke>> = {
    "a lock that is not free in time": (tx, { table }) =>
      other(async (client) => {
        await client.query("begin");
        await client.query(`select * from ${table} where id = 0 for update`);
        await tx.execute(`update ${table} set n = 1 where id = 0`);
      }),
    "a lock that nobody waits for": (tx, { table }) =>
      other(async (client) => {
        await client.query("begin");
        await client.query(`select * from ${table} where id = 0 for update`);
        await tx.execute(`select * from ${table} where id = 0 for update nowait`);
      }),
    "a deadlock": (tx, { table }) =>
      other(async (client) => {
        const { rows } = await client.query("select pg_backend_pid() pid");
        // The one that looks for the deadlock is its victim.
        await client.query("set deadlock_timeout = '1h'");
        await client.query("begin");
        await client.query(`update ${table} set n = 1 where id = 0`);
        await tx.execute(`update ${table} set n = 2 where id = -1`);
        client.query(`update ${table} set n = 1 where id = -1`).catch(() => undefined);
        await waits(rows[0].pid, "Lock");
        await tx.execute(`update ${table} set n = 2 where id = 0`);
      }),
    "a serialization failure": (tx, { table }) =>
      other(async (client) => {
        await tx.execute(`select * from ${table}`);
        await client.query(`update ${table} set n = 1 where id = 0`);
        await tx.execute(`update ${table} set n = 2 where id = 0`);
      }),
    "the limit on statements": (tx) => tx.execute("select pg_sleep(3600)"),
    "a statement that somebody cancels": async (tx, { pid }) => {
      const sleeping = tx.execute("select pg_sleep(3600)");
      await waits(pid, "Timeout");
      await admin.query("select pg_cancel_backend($1)", [pid]);
      await sleeping;
    },
    "a session that an administrator ends": async (tx, { pid }) => {
      const sleeping = tx.execute("select pg_sleep(3600)");
      await waits(pid, "Timeout");
      await admin.query("select pg_terminate_backend($1)", [pid]);
      await sleeping;
    },
  };

  it.each(Object.keys(REAL))("of %s: the flow runs again, and books once [J240]", async (name) => {
    const limits = { lockMs: 50, statementMs: name === "the limit on statements" ? 100 : 30_000 };
    const { result, rows, runs } = await booked(REAL[name] as Provoke, "passed on", limits);
    expect(await result).toBe("booked");
    expect(await rows()).toBe(1);
    expect(runs()).toBeGreaterThan(1);
  });

  it("that takes no more connections for a while holds flows up, and fails none [J242]", async () => {
    const { result, rows } = await booked(async (tx, { pid }) => {
      const taken: Client[] = [];
      for (let isFree = true; isFree; ) {
        const client = new Client(server.connection);
        client.on("error", () => undefined);
        isFree = await client.connect().then(
          () => taken.push(client) > 0,
          () => false,
        );
      }
      // Its own connection is gone, and for now there is no other.
      const sleeping = tx.execute("select pg_sleep(3600)");
      await admin.query("select pg_terminate_backend($1)", [pid]);
      await sleeping.finally(() => void Promise.all(taken.map((client) => client.end())));
    });
    expect(await result).toBe("booked");
    expect(await rows()).toBe(1);
  });
});

describePostgres("a server that is lost, and whose standby takes over", () => {
  if (noStandby !== undefined) console.log(`skip  a standby that takes over: ${noStandby}`);
  it.runIf(proving && noStandby === undefined)(
    "holds flows up while the standby only reads, and all go on when it writes: each transaction is there once [J422]",
    async () => {
      await using first = await startPostgres();
      await using standby = await startStandby(first);
      const proxy = await startProxy(first);
      const [before, after] = [new Client(first.connection), new Client(standby.connection)];
      for (const client of [before, after]) {
        client.on("error", () => undefined);
        await client.connect();
      }
      await before.query("create table booked (id int primary key)");
      let open = (): void => undefined;
      const gate = new Promise<void>((resolve) => {
        open = resolve;
      });
      let met = 0;
      const book = defineFlow("book", async (flow, id: number) => {
        await flow.idempotent("before", async () => id);
        await flow.transaction("book", async (tx) => {
          met++;
          if (met <= FLOWS) await gate;
          await tx.execute("insert into booked values ($1)", [id]);
        });
        return id;
      });
      await using system = new System({ report: false });
      const visits: unknown[] = [];
      system.events.on("hospital", (report) => visits.push(report));
      const store = postgres(proxy.connection);
      const flows = await system.start(flowHost({ store, flows: [book] }));
      const runs = await Promise.all(Array.from({ length: FLOWS }, (_, id) => flows.start(book, id)));
      const results = Promise.all(runs.map((run) => run.result({ timeoutMs: 60_000 })));
      await until(() => met >= FLOWS);
      // What is acknowledged so far is on the standby.
      const { rows } = await before.query("select pg_current_wal_lsn() at");
      const isBehind = "select pg_last_wal_replay_lsn() < $1::pg_lsn behind";
      await until(async () => !(await after.query(isBehind, [rows[0].at])).rows[0].behind);
      proxy.leadTo(standby);
      await first.kill();
      open();
      // Meanwhile the flows meet a server that only reads, and nothing is written.
      const already = proxy.connections;
      await until(() => proxy.connections >= already + READS);
      expect((await after.query("select 1 from booked")).rows).toEqual([]);
      await after.query("select pg_promote()");
      expect(await results).toEqual(Array.from({ length: FLOWS }, (_, id) => id));
      expect((await after.query("select count(*)::int n from booked")).rows).toEqual([{ n: FLOWS }]);
      expect(visits).toEqual([]);
      for (const client of [before, after]) await client.end().catch(() => undefined);
      await system.stop();
      await proxy.stop();
    },
  );
});

/** Why no small file system can be made here. */
const noDisk = ((): string | undefined => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "only root makes a small file system";
  const folder = mkdtempSync(join(tmpdir(), "signalbox-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], { stdio: "pipe" });
    execFileSync("umount", [folder], { stdio: "pipe" });
    return undefined;
  } catch {
    return "no file system can be mounted";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
})();

describePostgres("a disk of the server that is full", () => {
  if (noDisk !== undefined) console.log(`skip  a full disk of the server: ${noDisk}`);
  it.runIf(proving && noDisk === undefined)(
    "holds flows up at their transactions and at their checkpoints, and all go on when there is space [J243]",
    async () => {
      const disk = mkdtempSync(join(tmpdir(), "signalbox-disk-"));
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", disk], { stdio: "pipe" });
      const server = await startPostgres();
      try {
        chmodSync(disk, 0o777);
        const place = join(disk, "tables");
        execFileSync("mkdir", ["-m", "777", place]);
        execFileSync("chown", [
          execFileSync("stat", ["-c", "%U", server.connection.host]).toString().trim(),
          place,
        ]);
        const admin = new Client(server.connection);
        await admin.connect();
        await admin.query(`create tablespace small location '${place}'`);
        await admin.query("alter database postgres set default_tablespace = small");
        await admin.end();
        const own = new Client(server.connection);
        await own.connect();
        await own.query("create table booked (id int primary key, note text)");
        let open = (): void => undefined;
        const isFull = new Promise<void>((resolve) => {
          open = resolve;
        });
        // Texts that the server cannot press together.
        const noteOf = (id: number): string =>
          Array.from({ length: 20_000 }, (_, i) => String.fromCharCode(33 + ((i * i * id) % 90))).join("");
        const book = defineFlow("book", async (flow, id: number) => {
          if (id % 2 === 0) await flow.step("before", () => isFull.then(() => noteOf(id)));
          return flow.transaction("book", async (tx) => {
            await isFull;
            await tx.execute("insert into booked values ($1, $2)", [id, noteOf(id)]);
            return id;
          });
        });
        await using system = new System({ report: false });
        const began = new Promise<void>((resolve) => {
          system.events.on("storeOutage", ({ type }) => type === "began" && resolve());
        });
        const store = postgres(server.connection, { schema: "full" });
        const flows = await system.start(flowHost({ store, flows: [book], hospital }));
        const ids = Array.from({ length: 20 }, (_, i) => i + 1);
        const runs = await Promise.all(ids.map((id) => flows.start(book, id, { id: `book-${id}` })));
        const started = runs.map((run) => run.result({ timeoutMs: 60_000 }));
        // What a log or another program would fill.
        const filler = join(disk, "filler");
        const { bavail, bsize } = statfsSync(disk);
        writeFileSync(filler, Buffer.alloc(Number(bavail) * Number(bsize)));
        open();
        await Promise.race([began, Promise.all(started)]);
        rmSync(filler);
        expect(await Promise.all(started)).toEqual(ids);
        const { rows } = await own.query("select count(*)::int n from booked");
        expect(rows[0].n).toBe(ids.length);
        await own.end();
        await system.stop();
      } finally {
        await server.stop();
        execFileSync("umount", ["-l", disk]);
        rmSync(disk, { recursive: true, force: true });
      }
    },
  );
});
