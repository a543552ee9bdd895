// Schedules of several hosts on one store: each due time starts one flow.

import { ConflictError, memory, type Store } from "signalbox/store";
import { afterEach, describe, expect, it } from "vitest";
import { timeText } from "../../../lib/flow/schedules/calendar.js";
import { loadCron } from "../../../lib/flow/schedules/cron.js";
import { defined, type ScheduleRules } from "../../../lib/flow/schedules/definition.js";
import { ScheduleKeeper } from "../../../lib/flow/schedules/schedule-keeper.js";
import { SCHEDULE_SCHEMA } from "../../../lib/flow/schedules/tables.js";
import { type Claim, defineTable } from "../../../lib/store/index.js";
import { storeContext } from "../../support/store-context.js";

const runs = defineTable("runs", { columns: { id: "text", flow: "text", ended: "integer" }, key: ["id"] });
const MINUTE = 60_000;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Host {
  readonly keeper: ScheduleKeeper;
  alarm: { readonly at: number; readonly fn: () => void } | undefined;
  readonly failures: [string, unknown][];
}

/** Hosts of one store, whose clock the test sets. */
class Cluster {
  /** What the clock of the store shows. */
  now = 10 * MINUTE;
  /** The time by which timers go: nobody sets it. */
  elapsed = 0;
  readonly hosts: Host[] = [];
  stores: Store[] = [];
  busy = 0;

  static async of(count: number, flows: readonly string[] = ["report"]): Promise<Cluster> {
    const cluster = new Cluster();
    const source = memory({ shared: true, clock: () => cluster.now });
    for (let i = 0; i < count; i++)
      await cluster.#join(
        await source.open([SCHEDULE_SCHEMA, { name: "runs", version: 1, tables: [runs] }], storeContext()),
        flows,
        `host-${i}`,
      );
    return cluster;
  }

  async #join(store: Store, flows: readonly string[], owner: string): Promise<void> {
    closing.push(() => store.close());
    this.stores.push(store);
    const claim = (await store.claim(`flows/${owner}`, { owner, ttlMs: 6e9 })) as Claim;
    const host: Host = {
      ...{ alarm: undefined, failures: [] },
      keeper: new ScheduleKeeper({
        ...{ store, claim, flows, cron: () => loadCron() },
        after: (ms, fn) => {
          const alarm = { at: this.elapsed + ms, fn };
          host.alarm = alarm;
          return () => {
            if (host.alarm === alarm) host.alarm = undefined;
          };
        },
        starting: (id, flow) => ({ writes: [{ type: "offer", table: runs, row: { id, flow, ended: 0 } }] }),
        cancelling: async (id) => ({
          writes: [{ type: "update", table: runs, key: [id], set: { ended: 2 } }],
        }),
        isRunning: async (id) => (await store.get(runs, [[id]]))[0]?.ended === 0,
        failed: (name, error) => host.failures.push([name, error]),
        retryMs: () => 100,
        worked: () => undefined,
      }),
    };
    this.hosts.push(host);
  }

  put(name: string, rules: ScheduleRules, host = 0, flow = "report"): Promise<void> {
    const definition = {
      ...defined(name, { every: MINUTE }, undefined),
      ...(rules.cron !== undefined && { cron: rules.cron }),
    };
    const given = rules.cron === undefined ? defined(name, rules, undefined) : definition;
    return (this.hosts[host] as Host).keeper.put({
      name,
      flow,
      input: null,
      definition: given,
      declared: false,
    });
  }

  /** Turns of the event loop, until nothing changes. */
  async quiet(): Promise<void> {
    for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Time goes on in steps, and all alarms that are due go off together. */
  async pass(ms: number, stepMs = ms): Promise<void> {
    for (const until = this.elapsed + ms; this.elapsed < until; ) {
      const step = Math.min(stepMs, until - this.elapsed);
      this.elapsed += step;
      this.now += step;
      for (const host of this.hosts) {
        const { alarm } = host;
        if (alarm === undefined || alarm.at > this.elapsed) continue;
        host.alarm = undefined;
        alarm.fn();
      }
      await this.quiet();
    }
  }

  async ids(): Promise<string[]> {
    return (await (this.stores[0] as Store).scan(runs, {})).map(({ id }) => id);
  }
}

describe("a schedule", () => {
  it("starts one flow at each due time, though three hosts look at it [U6]", async () => {
    const cluster = await Cluster.of(3);
    for (const { keeper } of cluster.hosts) keeper.look();
    await cluster.put("hourly", { every: MINUTE });
    for (const { keeper } of cluster.hosts) keeper.look();
    await cluster.quiet();
    await cluster.pass(3 * MINUTE, 7_000);
    expect(await cluster.ids()).toEqual(
      [11, 12, 13].map((minute) => `hourly/1970-01-01T00:${minute}:00.000Z`),
    );
    const [row] = (await cluster.hosts[0]?.keeper.list()) ?? [];
    expect(row).toMatchObject({ fired: 13 * MINUTE, due: 14 * MINUTE, skipped: 0 });
  });

  it("created by two hosts at the same time is one [U6]", async () => {
    const cluster = await Cluster.of(2);
    await Promise.all([
      cluster.put("nightly", { every: MINUTE }, 0),
      cluster.put("nightly", { every: MINUTE }, 1),
    ]);
    expect(await cluster.hosts[0]?.keeper.list()).toMatchObject([{ name: "nightly", revision: 0 }]);
    await cluster.put("nightly", { every: 2 * MINUTE }, 1);
    expect(await cluster.hosts[0]?.keeper.list()).toMatchObject([
      { name: "nightly", revision: 1, due: 12 * MINUTE },
    ]);
  });

  it("goes on after the hosts were gone, by its rule for what was missed [U11]", async () => {
    const cluster = await Cluster.of(1);
    await cluster.put("all", { every: MINUTE, missed: "all" });
    await cluster.put("last", { every: MINUTE });
    await cluster.put("skip", { every: MINUTE, missed: "skip", grace: 1_000 });
    await cluster.quiet();
    await cluster.pass(3 * MINUTE + 10_000);
    expect((await cluster.ids()).map((id) => `${id.slice(0, 4)} ${id.slice(-10, -8)}`)).toEqual([
      "all/ 11",
      "all/ 12",
      "all/ 13",
      "last 13",
    ]);
    const counts = (await cluster.hosts[0]?.keeper.list())?.map(({ name, skipped }) => [name, skipped]);
    expect(counts).toEqual([
      ["all", 0],
      ["last", 2],
      ["skip", 3],
    ]);
  });

  it("meets the running flow of the due time before, by its rule [U12]", async () => {
    const cluster = await Cluster.of(1);
    await cluster.put("skip", { every: MINUTE, overlap: "skip" });
    await cluster.put("stop", { every: MINUTE, overlap: "cancel" });
    await cluster.quiet();
    await cluster.pass(2 * MINUTE, MINUTE);
    const rows = await (cluster.stores[0] as Store).scan(runs, {});
    expect(rows.map(({ id, ended }) => [id.slice(0, 4), ended])).toEqual([
      ["skip", 0],
      ["stop", 2],
      ["stop", 0],
    ]);
  });

  it("of a clock that is set back starts no due time a second time, and goes on [U10]", async () => {
    const cluster = await Cluster.of(2);
    await cluster.put("often", { every: MINUTE, missed: "skip" });
    await cluster.quiet();
    await cluster.pass(2 * MINUTE, MINUTE);
    cluster.now += 24 * 60 * MINUTE + 40_000;
    for (const { keeper } of cluster.hosts) keeper.look();
    await cluster.quiet();
    const ahead = (await cluster.ids()).length;
    cluster.now -= 24 * 60 * MINUTE + 40_000;
    for (const { keeper } of cluster.hosts) keeper.look();
    await cluster.quiet();
    await cluster.pass(2 * MINUTE, 20_000);
    const ids = await cluster.ids();
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length - ahead).toBe(2);
  });

  it.each(["skip", "last", "all"] as const)(
    "of a clock that was wrong once, by 60 days, starts each due time from then on, by the rule %s [U10]",
    async (missed) => {
      const cluster = await Cluster.of(1);
      const wrong = 60 * 24 * 60 * MINUTE;
      for (const name of ["first", "second"]) await cluster.put(name, { every: MINUTE, missed });
      await cluster.put("once", { at: [60 * MINUTE], missed: "skip" });
      await cluster.quiet();
      cluster.now += wrong;
      await cluster.pass(5_000, 1_000);
      for (const { keeper } of cluster.hosts) keeper.look();
      await cluster.quiet();
      cluster.now -= wrong;
      // Sorts before the others when the host looks at what is due.
      await cluster.put("third", { every: MINUTE, missed });
      await cluster.pass(60 * MINUTE, 20_000);
      const ids = (await cluster.ids()).filter((id) => id.includes("/1970-01-01"));
      const minutes = Array.from({ length: 60 }, (_, i) => `${timeText((11 + i) * MINUTE)}`);
      for (const name of ["first", "second", "third"])
        expect(ids.filter((id) => id.startsWith(name))).toEqual(minutes.map((at) => `${name}/${at}`));
      expect(ids.filter((id) => id.startsWith("once"))).toEqual([`once/${timeText(60 * MINUTE)}`]);
    },
  );

  it("is paused, resumed, started by hand and removed", async () => {
    const cluster = await Cluster.of(1);
    const [{ keeper }] = cluster.hosts as [Host];
    await cluster.put("often", { every: MINUTE });
    await keeper.change("often", "pause", "");
    await cluster.pass(3 * MINUTE, MINUTE);
    expect(await cluster.ids()).toEqual([]);
    expect(await keeper.change("often", "trigger", "now-1")).toBe("often/now-1");
    await keeper.change("often", "resume", "");
    await cluster.quiet();
    await cluster.pass(MINUTE);
    expect(await cluster.ids()).toEqual(["often/1970-01-01T00:14:00.000Z", "often/now-1"]);
    await keeper.remove("often");
    await cluster.pass(MINUTE);
    expect(await cluster.ids()).toHaveLength(2);
    for (const act of [keeper.remove("often"), keeper.change("often", "pause", "")])
      await expect(act).rejects.toMatchObject({ code: "ERR_SCHEDULE_NOT_FOUND" });
  });

  it("of a flow that no host has waits for one that does", async () => {
    const cluster = await Cluster.of(1, ["other"]);
    await cluster.put("often", { every: MINUTE });
    await cluster.quiet();
    await cluster.pass(3 * MINUTE, MINUTE);
    expect(await cluster.ids()).toEqual([]);
  });

  it("that fails holds up no other, and is reported", async () => {
    const cluster = await Cluster.of(1);
    await cluster.put("bad", { every: MINUTE });
    await cluster.put("good", { every: MINUTE });
    const [store] = cluster.stores as [Store];
    const { schedules } = await import("../../../lib/flow/schedules/tables.js");
    await store.commit({
      writes: [{ type: "update", table: schedules, key: ["bad"], set: { definition: "{" } }],
    });
    await cluster.quiet();
    await cluster.pass(MINUTE);
    expect(await cluster.ids()).toEqual(["good/1970-01-01T00:11:00.000Z"]);
    expect(cluster.hosts[0]?.failures.map(([name]) => name)).toContain("bad");
  });
});

describe("declared schedules", () => {
  it("are removed when their host declares them no more; those put at run time stay", async () => {
    const cluster = await Cluster.of(1);
    const [{ keeper }] = cluster.hosts as [Host];
    const definition = defined("x", { every: MINUTE }, undefined);
    for (const name of ["kept", "gone"])
      await keeper.put({ name, flow: "report", input: null, definition, declared: true });
    await keeper.put({ name: "other", flow: "elsewhere", input: null, definition, declared: true });
    await cluster.put("put", { every: MINUTE });
    await keeper.retire(["report"], ["kept"]);
    expect((await keeper.list()).map(({ name }) => name)).toEqual(["kept", "other", "put"]);
  });

  it("are checked against each other by their revision", async () => {
    const cluster = await Cluster.of(1);
    await cluster.put("often", { every: MINUTE });
    const [store] = cluster.stores as [Store];
    const { schedules } = await import("../../../lib/flow/schedules/tables.js");
    const late = { table: schedules, key: ["often"], is: { revision: 7 } } as const;
    await expect(store.commit({ expect: [late], writes: [] })).rejects.toThrow(ConflictError);
  });
});
