// Claims on a server: who holds them, when they are lost, and that a late writer is refused.

import { Client } from "pg";
import {
  type Claim,
  defineTable,
  FencedError,
  type PostgresOptions,
  postgres,
  type Schema,
  type Store,
  type WriteSet,
} from "signalbox/store";
import { expect, it } from "vitest";
import { Catalog } from "../../../lib/store/postgres/catalog.js";
import { childProgram } from "../../support/child-program.js";
import { describePostgres } from "../../support/postgres.js";
import { storeContext } from "../../support/store-context.js";
import { until } from "../../support/until.js";
import { PostgresBench } from "./bench.js";

const names = defineTable("names", { columns: { id: "text" }, key: ["id"] });
const jobs = defineTable("jobs", { columns: { id: "text", by: "text" }, key: ["id"] });
const schema: Schema = { name: "claims", version: 1, tables: [names, jobs] };
const lost = (claim: Claim): Promise<unknown> =>
  new Promise((resolve) => {
    if (claim.lost.aborted) resolve(undefined);
    claim.lost.addEventListener("abort", resolve);
  });

describePostgres("claims on a server", () => {
  const bench = new PostgresBench(schema);
  const sql = (text: string): Promise<readonly unknown[]> => bench.sql(text);

  /** Two hosts: one by way of the proxy. */
  async function hosts(options: PostgresOptions = {}): Promise<{ cut: Store; other: Store; place: string }> {
    const place = bench.place();
    const cut = await bench.opened(bench.proxy.connection, { ...options, schema: place });
    const other = await bench.opened(bench.server.connection, { schema: place });
    return { cut, other, place };
  }

  /** Waits until the other host sees the claim so. */
  async function seen(store: Store, held: boolean): Promise<void> {
    await until(async () => (await store.claims(""))[0]?.held === held, "the claim");
  }

  /** Waits until the owner's session has locked its token. */
  async function locked(place: string): Promise<void> {
    const locks = `select from "${place}"."$claims" where locked_in is not null`;
    await until(async () => (await sql(locks)).length > 0, "the lock of the claim");
  }

  it("are held for their time when the connection of their owner has gone, if the owner renews them [N1070]", async () => {
    const { cut, other } = await hosts();
    const claim = (await cut.claim("owned", { owner: "a", ttlMs: 600_000, renewedBy: "owner" })) as Claim;
    await cut.claim("kept", { owner: "a", ttlMs: 600_000 });
    bench.proxy.refuses = true;
    bench.proxy.cutAll();
    await until(
      async () => (await other.claim("kept", { owner: "b" })) !== undefined,
      "the end of the session",
    );
    expect(await other.claim("owned", { owner: "b" })).toBeUndefined();
    bench.proxy.refuses = false;
    await until(() => claim.renew(), "a renewal");
    expect(claim.lost.aborted).toBe(false);
  });

  it("are not held any more as soon as the connection of their owner has gone [K39]", async () => {
    const { cut, other, place } = await hosts();
    const claim = (await cut.claim("host", { owner: "a", ttlMs: 600_000 })) as Claim;
    await locked(place);
    const since = expect.any(Number);
    expect(await other.claims("")).toEqual([
      { name: "host", token: claim.token, owner: "a", since, held: true },
    ]);
    expect(await other.claim("host", { owner: "b" })).toBeUndefined();
    bench.proxy.refuses = true;
    bench.proxy.cutAll();
    await seen(other, false);
    const next = (await other.claim("host", { owner: "b", ttlMs: 600_000 })) as Claim;
    expect(next.token).toBeGreaterThan(claim.token);
    bench.proxy.refuses = false;
    const late = cut.commit({ claim, writes: [{ type: "put", table: names, row: { id: "late" } }] });
    await expect(late).rejects.toThrow(FencedError);
    expect(claim.lost.aborted).toBe(true);
    expect(await other.count(names, {})).toBe(0);
  });

  it("are kept when their owner comes back before another has taken them [K39]", async () => {
    const { cut, other, place } = await hosts();
    const claim = (await cut.claim("host", { owner: "a", ttlMs: 600_000 })) as Claim;
    await locked(place);
    bench.proxy.cutAll();
    await cut.commit({ claim, writes: [{ type: "put", table: names, row: { id: "back" } }] });
    await seen(other, true);
    expect(claim.lost.aborted).toBe(false);
  });

  it("are lost to their owner when it could not renew them in time, and then it is refused [K40]", async () => {
    const { cut, other } = await hosts({ reconnect: { minMs: 5, maxMs: 20 } });
    const claim = (await cut.claim("host", { owner: "a", ttlMs: 300 })) as Claim;
    bench.proxy.refuses = true;
    bench.proxy.cutAll();
    await lost(claim);
    await seen(other, false);
    bench.proxy.refuses = false;
    const late = cut.commit({ claim, writes: [{ type: "put", table: names, row: { id: "late" } }] });
    await expect(late).rejects.toThrow(FencedError);
  });

  it("hold for 15 seconds, or as long as `leaseMs` says [K260]", async () => {
    for (const [options, ms] of [
      [{}, 15_000],
      [{ leaseMs: 600_000 }, 600_000],
    ] as const) {
      const place = bench.place();
      const store = await bench.opened(bench.server.connection, { ...options, schema: place });
      await store.claim("host", { owner: "a" });
      const leases = await sql(
        `select ttl::float8, expires::float8 >= since::float8 + ttl as holds from "${place}"."$claims"`,
      );
      expect(leases).toEqual([{ ttl: ms, holds: true }]);
    }
    expect(() => postgres(bench.server.connection, { leaseMs: 100 })).toThrow(/leaseMs/);
  });

  it("are taken only after the commits of their owner that are under way, which then count [K32]", async () => {
    const { other, place } = await hosts();
    const claim = (await other.claim("host", { owner: "a" })) as Claim;
    const writer = new Client(bench.server.connection);
    await writer.connect();
    // What a group of the owner does: it locks the row of its claim, and is not committed yet.
    await writer.query("begin");
    const { text, values = [] } = new Catalog(place).fence([claim]);
    expect((await writer.query(text, [...values])).rowCount).toBe(1);
    let isRevoked = false;
    const revoked = other.revoke("host", claim.token).then((done) => {
      isRevoked = true;
      return done;
    });
    const waits = "select from pg_stat_activity where wait_event_type = 'Lock'";
    await until(async () => isRevoked || (await sql(waits)).length > 0, "the wait for the lock");
    expect(isRevoked).toBe(false);
    await writer.query(`insert into "${place}".names values ('in time')`);
    await writer.query("commit");
    await writer.end();
    expect(await revoked).toBe(true);
    expect(await other.get(names, [["in time"]])).toEqual([{ id: "in time" }]);
    const late = other.commit({ claim, writes: [{ type: "put", table: names, row: { id: "late" } }] });
    await expect(late).rejects.toThrow(FencedError);
  });

  it("hold by the server's clock, whatever the clock of a process says [K31]", async () => {
    const place = bench.place();
    const context = storeContext();
    const environment = Object.assign(Object.create(context.environment), { wallTime: () => 0 });
    const store = await bench.opened(bench.server.connection, { schema: place }, { ...context, environment });
    expect(await store.clock()).toBeGreaterThan(1_600_000_000_000);
    await store.claim("host", { owner: "a" });
    expect(await store.claims("")).toMatchObject([{ held: true }]);
    await sql(
      `update "${place}"."$claims" set expires = extract(epoch from clock_timestamp()) * 1000 - 1, ttl = -1`,
    );
    expect(await store.claims("")).toMatchObject([{ held: false }]);
  });

  const later = 600_000;
  /** What the row of a claim says, as after so many milliseconds without a renewal, or as renewed for so long. */
  const expire = (place: string, ms: number): Promise<unknown> =>
    sql(
      `update "${place}"."$claims" set ttl = ${ms}, expires = extract(epoch from clock_timestamp()) * 1000 + ${ms}`,
    );
  const row = (id: string): WriteSet => ({ writes: [{ type: "put", table: names, row: { id } }] });

  it("are lost to an owner whom the fence has refused, also when only a take or SQL was [K56]", async () => {
    const { other, place } = await hosts();
    const refused: ((claim: Claim) => Promise<unknown>)[] = [
      (claim) => other.commit({ ...row("late"), claim }),
      (claim) => other.take(jobs, { limit: 1, set: { by: "a" }, claim }),
      (claim) => other.transaction(async () => undefined, { claim }),
      (claim) => other.transaction(async () => undefined, { attach: () => ({ ...row("late"), claim }) }),
    ];
    for (const write of refused) {
      const claim = (await other.claim("host", { owner: "a", ttlMs: later })) as Claim;
      await expire(place, -1);
      await expect(write(claim)).rejects.toThrow(FencedError);
      expect(claim.lost.aborted).toBe(true);
      await claim.release();
    }
    expect(await other.count(names, {})).toBe(0);
  });

  it("count as they are when SQL commits: renewed since it began, or taken [K57]", async () => {
    const { cut, other, place } = await hosts();
    const claim = (await other.claim("host", { owner: "a", ttlMs: later })) as Claim;
    /** A transaction that begins when the claim has nearly expired, and during which this happens. */
    const during = async (id: string, happens: () => Promise<unknown>): Promise<unknown> => {
      await expire(place, -1);
      return other.transaction(
        async (tx) => {
          await tx.execute("select 1");
          await happens();
        },
        { claim, attach: () => row(id) },
      );
    };
    await during("renewed", () => expire(place, later));
    expect(claim.lost.aborted).toBe(false);
    await expect(during("taken", () => cut.claim("host", { owner: "b" }))).rejects.toThrow(FencedError);
    expect(claim.lost.aborted).toBe(true);
    expect(await other.scan(names, {})).toEqual([{ id: "renewed" }]);
  });

  it("of hosts that were killed are removed an hour after they have expired, by the next who claims, and no others [K47]", async () => {
    const { other, place } = await hosts();
    const age = (name: string, ms: number): Promise<unknown> =>
      sql(
        `update "${place}"."$claims" set ttl = -${ms}, expires = extract(epoch from clock_timestamp()) * 1000 - ${ms} where name = '${name}'`,
      );
    const names = async (): Promise<string[]> => (await other.claims("")).map(({ name }) => name);
    const hour = 3_600_000;
    const living = (await other.claim("living", { owner: "a" })) as Claim;
    for (const name of ["long dead", "in use", "just dead"]) await other.claim(name, { owner: "a" });
    await age("long dead", hour + 1_000);
    await age("in use", hour + 1_000);
    await age("just dead", hour - 60_000);
    // A commit of the owner that is under way: nobody waits for it, and its claim stays.
    const writer = new Client(bench.server.connection);
    await writer.connect();
    await writer.query("begin");
    await writer.query(`select from "${place}"."$claims" where name = 'in use' for key share`);
    const next = await other.claim("next", { owner: "b" });
    expect(await names()).toEqual(["in use", "just dead", "living", "next"]);
    await writer.query("commit");
    await writer.end();
    await next?.release();
    await other.claim("after", { owner: "b" });
    expect(await names()).toEqual(["after", "just dead", "living"]);
    await other.commit({ claim: living, writes: [] });
  });

  it("of a process that is stopped expire, and when it goes on it is refused [K40]", async () => {
    const place = bench.place();
    const program = await childProgram(new URL("../../support/programs/claimant.ts", import.meta.url));
    try {
      const child = program.start(JSON.stringify(bench.server.connection), place, "400");
      await child.prints("claimed");
      const store = await bench.opened(bench.server.connection, { schema: place });
      child.signal("SIGSTOP");
      await seen(store, false);
      const [found] = await store.claims("");
      expect(await store.revoke("host", found?.token as number)).toBe(true);
      const mine = (await store.claim("host", { owner: "b" })) as Claim;
      const before = (await store.scan(names, {})).length;
      child.signal("SIGCONT");
      const { stdout } = await child.ended;
      expect(stdout).toContain("lost\nrefused ERR_STORE_FENCED");
      expect(await store.count(names, {})).toBe(before);
      await store.commit({ claim: mine, writes: [] });
    } finally {
      program.remove();
    }
  });
});
