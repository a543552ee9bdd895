// Queues and schedules of flows on every store: one suite, with one host where a store has room for one, and with two on PostgreSQL.

import type { PGlite } from "@electric-sql/pglite";
import { type AnyFlow, defineFlow, type FlowHost, type FlowHostOptions, schedule } from "signalbox/flow";
import type { Claim } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { FlowRow } from "../../lib/flow/journal/tables.js";
import { DRIVERS } from "../store/sqlite/support.js";
import { runsOnPglite, sharedPglite } from "../support/pglite.js";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.js";
import { proving } from "../support/proof.js";
import { storeContext } from "../support/store-context.js";
import { OLDER_SCHEMA, putOlder } from "./stores/older.js";
import { type Place, pglitePlace, postgresPlace, Shop, sqlitePlace } from "./stores/places.js";

let server: PostgresServer | undefined;
let database: PGlite;
beforeAll(async () => {
  if (runsOnPglite(proving)) database = await sharedPglite();
  if (noPostgres === undefined) server = await startPostgres();
});
afterAll(async () => {
  await server?.stop();
});

interface Kind {
  readonly name: string;
  readonly hosts: 1 | 2;
  make(): Place;
}

const KINDS: readonly Kind[] = [
  ...DRIVERS.map((driver) => ({
    name: `SQLite on ${driver}`,
    hosts: 1 as const,
    make: () => sqlitePlace(driver),
  })),
  ...(runsOnPglite(proving)
    ? [{ name: "PGlite", hosts: 1 as const, make: () => pglitePlace(database) }]
    : []),
  ...(noPostgres === undefined
    ? [
        {
          name: "PostgreSQL, two hosts",
          hosts: 2 as const,
          make: () => postgresPlace(server as PostgresServer),
        },
      ]
    : []),
];

const SECOND = 1_000;

/** Flows that run until they are told to end. */
class Work {
  readonly order: string[] = [];
  /** Whose code has got the outcome of its step. */
  readonly begun = new Set<string>();
  readonly flow = defineFlow("work", { queue: "jobs" }, async (flow) => {
    await flow.step("begin", () => void this.order.push(flow.flowId));
    this.begun.add(flow.flowId);
    return flow.receive<string>("end");
  });
}

const slots = (rows: readonly FlowRow[]): string[] =>
  rows.filter(({ slot }) => slot !== null).map(({ id }) => id);
const ended = (rows: readonly FlowRow[]): string[] =>
  rows.filter(({ finished }) => finished !== null).map(({ id }) => id);

/** Hosts of one shop; requests go to them in turn. */
async function hostsOf(kind: Kind, shop: Shop, options: Omit<FlowHostOptions, "store">): Promise<FlowHost[]> {
  const hosts = [await shop.host({ ...options, hostId: "host 0" })];
  for (let i = 1; i < kind.hosts; i++) hosts.push(await shop.host({ ...options, hostId: `host ${i}` }));
  return hosts;
}

const at = (hosts: readonly FlowHost[], i: number): FlowHost => hosts[i % hosts.length] as FlowHost;

describe.each(KINDS)("on $name", (kind) => {
  it("a queue keeps its limit and that of each key, and higher priority goes first [U26]", async () => {
    await using shop = new Shop(kind.make());
    const work = new Work();
    const queues = { jobs: { concurrency: 2, perKey: { concurrency: 1 } } };
    const hosts = await hostsOf(kind, shop, { flows: [work.flow], queues });
    shop.watch = (rows) => {
      const held = rows.filter(({ slot }) => slot !== null).map((row) => row.queue_key);
      expect(held.length).toBeLessThanOrEqual(2);
      expect(new Set(held).size).toBe(held.length);
    };
    const starts = [
      { id: "x1", key: "x" },
      { id: "y1", key: "y" },
      { id: "x2", key: "x" },
      { id: "z1", key: "z" },
      { id: "z2", key: "z", priority: 9 },
      { id: "y2", key: "y", priority: 5 },
    ];
    for (const [i, start] of starts.entries()) {
      await at(hosts, i).start(work.flow, undefined, start);
      // The first two have their slots before one of a higher priority comes.
      if (i === 1) await shop.until((rows) => slots(rows).length === 2);
    }
    for (let i = 0; i < starts.length; i++) {
      const count = Math.min(i + 2, starts.length);
      await shop.until((rows) => slots(rows).length === count - i && work.order.length === count);
      const next = work.order[i] as string;
      await at(hosts, i).get(next).send("end", "done");
      await shop.until((rows) => ended(rows).length === i + 1);
    }
    expect(work.order.slice(0, 2).sort()).toEqual(["x1", "y1"]);
    expect(work.order.slice(2, 4)).toEqual(work.order[0] === "x1" ? ["z2", "y2"] : ["z2", "x2"]);
    expect([...work.order].sort()).toEqual(["x1", "x2", "y1", "y2", "z1", "z2"]);
  });

  it("the token of a flow grows with each take, also of one of the older schema [J31]", async () => {
    const place = kind.make();
    const { source } = await place.source();
    const older = await source.open([OLDER_SCHEMA], storeContext());
    const claim = (await older.claim("flows/older", { owner: "older", ttlMs: 60_000 })) as Claim;
    await putOlder(older, claim, { id: "older", name: "walk", status: "running", holder: claim.token });
    await claim.release();
    await older.close();
    await using shop = new Shop(place);
    const tokens: number[] = [];
    const walk = defineFlow("walk", async (flow) => {
      for (let i = 0; i < 2; i++) {
        await flow.step("at", ({ token }) => void tokens.push(token));
        await flow.receive<string>("go");
      }
    });
    const options = { flows: [walk], limits: { idleMs: 1 } };
    const first = await shop.host({ ...options, hostId: "first" });
    await shop.until((rows) => tokens.length === 1 && rows[0]?.holder === null);
    await shop.stop(first);
    const second = await shop.host({ ...options, hostId: "second" });
    await second.get("older").send("go", 1);
    await shop.until(() => tokens.length === 2);
    const [one = 0, two = 0] = tokens;
    expect([one > claim.token, two > one]).toEqual([true, true]);
  });

  it("a queue keeps its rate by the clock of the store [U27]", async () => {
    await using shop = new Shop(kind.make());
    const work = new Work();
    const queues = { jobs: { rate: { limit: 2, period: 20 * SECOND } } };
    const hosts = await hostsOf(kind, shop, { flows: [work.flow], queues });
    for (let i = 0; i < 5; i++) await at(hosts, i).start(work.flow, undefined, { id: `j${i}` });
    await shop.until((rows) => slots(rows).length === 2);
    await shop.pass(12 * SECOND);
    expect(slots(await shop.rows())).toHaveLength(2);
    await shop.pass(9 * SECOND);
    await shop.until((rows) => slots(rows).length === 4);
    await shop.pass(10 * SECOND);
    expect(slots(await shop.rows())).toHaveLength(4);
    await shop.pass(11 * SECOND);
    await shop.until((rows) => slots(rows).length === 5);
  });

  it("a host that dies gives its places back when its flows end elsewhere, and loses none [U28]", async () => {
    await using shop = new Shop(kind.make());
    const work = new Work();
    const options = { flows: [work.flow], queues: { jobs: { concurrency: 2 } } };
    const hosts = await hostsOf(kind, shop, options);
    shop.watch = (rows) => expect(slots(rows).length).toBeLessThanOrEqual(2);
    for (const id of ["a", "b", "c", "d"]) await at(hosts, 0).start(work.flow, undefined, { id });
    await shop.until((rows) => slots(rows).length === 2 && work.begun.size === 2);
    const before = slots(await shop.rows());
    await shop.kill(hosts[0] as FlowHost);
    const heir = hosts[1] ?? (await shop.host(options));
    expect(slots(await shop.rows())).toEqual(before);
    await shop.pass(6 * SECOND);
    for (const id of before) await heir.get(id).send("end", "done");
    await shop.until((rows) => ended(rows).length === 2 && slots(rows).length === 2);
    for (const id of slots(await shop.rows())) await heir.get(id).send("end", "done");
    await shop.until((rows) => ended(rows).length === 4);
    // No step whose outcome was recorded runs again.
    expect([...work.order].sort()).toEqual(["a", "b", "c", "d"]);
  });

  it("a schedule starts one flow at each due time, and what was missed by its rule [U29]", async () => {
    await using shop = new Shop(kind.make());
    const tick = defineFlow("tick", async () => "ticked");
    const every = (name: string, more: object) =>
      schedule(name, { every: "10 s", flow: tick as AnyFlow, ...more });
    const options = {
      flows: [tick],
      schedules: [
        every("all", { missed: "all", grace: 4_000 }),
        every("last", { missed: "last", grace: 4_000 }),
        every("skip", { missed: "skip", grace: 4_000 }),
      ],
    };
    const hosts = await hostsOf(kind, shop, options);
    const due = (rows: readonly FlowRow[]): Record<string, number[]> => {
      const found: Record<string, number[]> = { all: [], last: [], skip: [] };
      for (const { id } of rows) {
        const [name, time] = id.split("/") as [string, string];
        found[name]?.push(Date.parse(time));
      }
      for (const list of Object.values(found)) list.sort((a, b) => a - b);
      return found;
    };
    await shop.pass(20 * SECOND);
    const first = due(await shop.until((rows) => rows.length === 6));
    expect(first.all).toEqual([0, 10 * SECOND].map((ms) => (first.all?.[0] as number) + ms));
    expect(first.last).toEqual(first.all);
    expect(first.skip).toEqual(first.all);
    for (const host of hosts) await shop.stop(host);
    // Nobody is there for three due times, and 5 s more.
    const start = first.all?.[0] as number;
    await shop.clock.advance(start + 45 * SECOND - shop.now);
    await hostsOf(kind, shop, options);
    const next = due(await shop.until((rows) => rows.length === 10));
    const times = (...s: number[]): number[] => s.map((one) => start + one * SECOND);
    expect(next).toEqual({
      all: times(0, 10, 20, 30, 40),
      last: times(0, 10, 40),
      skip: times(0, 10),
    });
    await shop.pass(7 * SECOND);
    const last = due(await shop.until((rows) => rows.length === 13));
    expect(last).toEqual({
      all: times(0, 10, 20, 30, 40, 50),
      last: times(0, 10, 40, 50),
      skip: times(0, 10, 50),
    });
  });

  it("a clock that is set back starts no due time again, and breaks no rate [U30]", async () => {
    await using shop = new Shop(kind.make());
    const tick = defineFlow("tick", async () => "ticked");
    const work = new Work();
    const schedules = [schedule("tick", { every: "10 s", flow: tick, missed: "all" })];
    const queues = { jobs: { rate: { limit: 1, period: 10 * SECOND } } };
    const hosts = await hostsOf(kind, shop, { flows: [tick, work.flow], schedules, queues });
    const ticks = (rows: readonly FlowRow[]): string[] =>
      rows.filter(({ name }) => name === "tick").map(({ id }) => id);
    for (let i = 0; i < 3; i++) await at(hosts, i).start(work.flow, undefined, { id: `j${i}` });
    await shop.pass(10 * SECOND);
    const before = (await shop.until((rows) => ticks(rows).length === 1 && slots(rows).length > 0)).length;
    const running = slots(await shop.rows()).length;
    shop.aheadMs -= 25 * SECOND;
    await shop.pass(4 * SECOND);
    // No start and no due time came again: the window holds, and what is due lies ahead.
    expect(slots(await shop.rows()).length).toBeLessThanOrEqual(running + 1);
    expect((await shop.rows()).length).toBe(before);
    await shop.pass(60 * SECOND);
    const rows = await shop.until((all) => slots(all).length === 3 && ticks(all).length >= 4);
    // Each due time that the clock came to, whichever of them was the first.
    const dues = ticks(rows)
      .map((id) => Date.parse(id.slice("tick/".length)))
      .sort((a, b) => a - b);
    expect(dues).toEqual(dues.map((_, i) => (dues[0] as number) + i * 10 * SECOND));
  });
});
