// Queues of several hosts on one store: what the machine decides, carried out by write sets.

import fc from "fast-check";
import { type Claim, memory, type Store } from "signalbox/store";
import { afterEach, describe, expect, it } from "vitest";
import { FLOW_SCHEMA, type FlowRow, flows } from "../../../lib/flow/journal/tables.js";
import { checkQueues, type QueueOptions, type QueueSettings } from "../../../lib/flow/queues/options.js";
import { readPage } from "../../../lib/flow/queues/page.js";
import { QueueKeeper } from "../../../lib/flow/queues/queue-keeper.js";
import { QUEUE_SCHEMA, starts } from "../../../lib/flow/queues/tables.js";
import { sized } from "../../support/proof.js";
import { storeContext } from "../../support/store-context.js";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function row(id: string, lane: string, rank: number): Omit<FlowRow, "number"> {
  return {
    ...{ id, name: "mail", version: 1, status: "pending", input: "", outcome: null, seed: id, generation: 0 },
    ...{
      holder: null,
      epoch: 0,
      due: null,
      mail: 0,
      crashes: 0,
      taken_at: 0,
      parent: null,
      parent_key: null,
      wish: null,
    },
    ...{
      queue: "emails",
      queue_key: lane,
      rank,
      waiting: "emails",
      slot: null,
      debounce: null,
      on_cancel: null,
      hospital: null,
    },
    ...{ progress: null, trace: null, created: 0, updated: 0, finished: null },
  } as Omit<FlowRow, "number">;
}

interface Host {
  readonly keeper: QueueKeeper;
  readonly claim: Claim;
  readonly running: Set<number>;
  alarm: { readonly at: number; readonly fn: () => void } | undefined;
}

/** Hosts of one store, whose clock the test sets. */
class Cluster {
  now = 1_000_000;
  readonly settings: QueueSettings;
  readonly hosts: Host[] = [];
  store!: Store;
  /** In the order of the starts. */
  readonly started: number[] = [];
  /** By how many milliseconds the next admissions reach the store after they were decided. */
  delays: readonly number[] = [];
  /** The flows that got a slot, and when it was committed. */
  readonly admitted: { readonly number: number; readonly at: number }[] = [];
  #ids = 0;
  #admissions = 0;

  constructor(options: QueueOptions) {
    this.settings = checkQueues({ emails: options }).get("emails") as QueueSettings;
  }

  static async of(options: QueueOptions, count: number): Promise<Cluster> {
    const cluster = new Cluster(options);
    const source = memory({ shared: true, clock: () => cluster.now });
    for (let i = 0; i < count; i++) {
      const store = await source.open([FLOW_SCHEMA, QUEUE_SCHEMA], storeContext());
      closing.push(() => store.close());
      cluster.store = store;
      await cluster.#join(store, `host-${i}`);
    }
    return cluster;
  }

  async #join(store: Store, owner: string): Promise<void> {
    const claim = (await store.claim(`flows/${owner}`, { owner, ttlMs: 1e9 })) as Claim;
    const host: Host = {
      claim,
      running: new Set(),
      alarm: undefined,
      keeper: new QueueKeeper(this.settings, {
        ...{ store: this.#slow(store), claim, random: () => 0.5, accepts: () => true },
        after: (ms, fn) => {
          const alarm = { at: this.now + ms, fn };
          host.alarm = alarm;
          return () => {
            if (host.alarm === alarm) host.alarm = undefined;
          };
        },
        failed: () => undefined,
        until: (_queue, work) => work(),
        worked: () => undefined,
        run: (numbers) => {
          for (const number of numbers) host.running.add(number);
          this.started.push(...numbers);
        },
      }),
    };
    this.hosts.push(host);
  }

  /** The store, of which each admission takes the next of the delays. */
  #slow(store: Store): Store {
    const commit: Store["commit"] = async (set) => {
      const numbers = set.writes.flatMap((write) =>
        write.type === "update" && write.table.name === flows.name ? [write.key[0] as number] : [],
      );
      if (numbers.length > 0) {
        this.now += this.delays[this.#admissions++ % this.delays.length] ?? 0;
        await new Promise((resolve) => setImmediate(resolve));
      }
      const committed = await store.commit(set);
      for (const number of numbers) this.admitted.push({ number, at: this.now });
      return committed;
    };
    return new Proxy(store, {
      get: (target, name) => {
        const value: unknown = name === "commit" ? commit : Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  async put(...lanes: readonly (readonly [lane: string, rank: number])[]): Promise<void> {
    const writes = lanes.map(([lane, rank]) => ({
      type: "insert" as const,
      table: flows,
      row: row(`f${++this.#ids}`, lane, rank),
    }));
    await this.store.commit({ writes });
    for (const { keeper } of this.hosts) keeper.take({ type: "more" });
  }

  async end(number: number): Promise<void> {
    const host = this.hosts.find(({ running }) => running.has(number)) as Host;
    const set = { status: "completed", slot: null, holder: null };
    await this.store.commit({
      claim: host.claim,
      writes: [{ type: "update", table: flows, key: [number], set }],
    });
    host.running.delete(number);
    for (const one of this.hosts) one.keeper.take(one === host ? { type: "left" } : { type: "room" });
  }

  /** Turns of the event loop until all hosts are idle; alarms within `ms` go off. */
  async settle(ms = 0): Promise<void> {
    const until = this.now + ms;
    for (let quiet = 0; quiet < 3; ) {
      await new Promise((resolve) => setImmediate(resolve));
      const idle = this.hosts.every(({ keeper }) => keeper.state.phase === "idle");
      quiet = idle ? quiet + 1 : 0;
      // Retries are short; the alarms of rates are as long as their periods.
      const due = this.hosts.filter(({ alarm }) => alarm !== undefined && alarm.at <= until);
      if (!idle || due.length === 0) continue;
      quiet = 0;
      const [first] = due.sort((a, b) => (a.alarm?.at ?? 0) - (b.alarm?.at ?? 0));
      const { alarm } = first as Host;
      this.now = Math.max(this.now, Math.ceil(alarm?.at ?? 0));
      (first as Host).alarm = undefined;
      alarm?.fn();
    }
  }

  async rows(): Promise<FlowRow[]> {
    return this.store.scan(flows, { limit: 10_000 });
  }

  async check(): Promise<void> {
    const running = (await this.rows()).filter(({ slot }) => slot !== null);
    const { limits } = this.settings;
    expect(running.length).toBeLessThanOrEqual(limits.concurrency);
    for (const lane of new Set(running.map(({ queue_key }) => queue_key)))
      expect(running.filter(({ queue_key }) => queue_key === lane).length).toBeLessThanOrEqual(limits.perKey);
    for (const host of this.hosts) expect(host.running.size).toBeLessThanOrEqual(limits.perHost);
  }
}

describe("a queue on a store that three hosts share", () => {
  it("never exceeds a limit, runs each flow once, and leaves none behind [U1]", async () => {
    const most = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
    const options = fc.record({ concurrency: most, perHost: most, key: most }).map(
      ({ concurrency, perHost, key }): QueueOptions => ({
        ...(concurrency !== undefined && { concurrency }),
        ...(perHost !== undefined && { perHost }),
        ...(key !== undefined && { perKey: { concurrency: key } }),
      }),
    );
    const lanes = fc.array(fc.tuple(fc.constantFrom("", "a", "b", "c"), fc.nat(2)), {
      minLength: 1,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(
        options,
        lanes,
        lanes,
        fc.infiniteStream(fc.nat(100)),
        async (given, first, second, picks) => {
          const cluster = await Cluster.of(given, 3);
          await cluster.put(...first);
          await cluster.settle(100);
          await cluster.check();
          await cluster.put(...second);
          for (;;) {
            const running = cluster.hosts.flatMap((host) => [...host.running]);
            if (running.length === 0) break;
            // Several ends at once, without a pause for the hosts.
            const pick = (picks.next().value as number) % running.length;
            await Promise.all(
              [...new Set([running[0], running[pick]])].map((number) => cluster.end(number as number)),
            );
            await cluster.settle(100);
            await cluster.check();
          }
          const numbers = (await cluster.rows()).map(({ number }) => number);
          expect([...cluster.started].sort((a, b) => a - b)).toEqual(numbers);
        },
      ),
      { numRuns: sized(6, 0.05) },
    );
  });

  it("starts no more within a period than the rate allows, on all hosts together [U3]", async () => {
    const cluster = await Cluster.of(
      { rate: { limit: 4, period: "1 s" }, perKey: { rate: { limit: 1, period: "2 s" } } },
      3,
    );
    await cluster.put(...Array.from({ length: 12 }, (_, i) => [`key-${i % 6}`, 0] as const));
    await cluster.settle(10);
    expect(cluster.started).toHaveLength(4);
    await cluster.settle(1_000);
    expect(cluster.started).toHaveLength(6);
    await cluster.settle(5_000);
    expect(cluster.started).toHaveLength(12);
    const rows = await cluster.store.scan(starts, {});
    for (const { at } of rows)
      expect(rows.filter((other) => other.at > at - 1_000 && other.at <= at).length).toBeLessThanOrEqual(4);
    // Rows of starts that have left the longest period are removed by later admissions.
    await cluster.put(["key-9", 0]);
    await cluster.settle(5_000);
    expect((await cluster.store.scan(starts, {})).length).toBeLessThan(12);
  });

  it("counts a start from the commit of its admission, however long after the page was read [U3]", async () => {
    const limits: QueueOptions = {
      rate: { limit: 10, period: "1 s" },
      perKey: { rate: { limit: 3, period: "1 s" } },
    };
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 30, maxLength: 30 }),
        async (delays) => {
          const cluster = await Cluster.of(limits, 3);
          cluster.delays = delays;
          await cluster.put(...Array.from({ length: 40 }, (_, i) => [`key-${i % 8}`, 0] as const));
          await cluster.settle(20_000);
          expect(cluster.admitted).toHaveLength(40);
          const lanes = new Map((await cluster.rows()).map((one) => [one.number, one.queue_key]));
          for (const { at } of cluster.admitted) {
            const within = cluster.admitted.filter((one) => one.at > at - 1_000 && one.at <= at);
            expect(within.length).toBeLessThanOrEqual(10);
            for (const lane of lanes.values())
              expect(within.filter(({ number }) => lanes.get(number) === lane).length).toBeLessThanOrEqual(3);
          }
        },
      ),
      { numRuns: sized(6, 0.05) },
    );
  });

  it("counts a start from a clock that was set back as one of now [U3]", async () => {
    const cluster = await Cluster.of({ rate: { limit: 1, period: "1 s" } }, 1);
    await cluster.put(["", 0], ["", 0]);
    await cluster.settle(10);
    cluster.now -= 86_400_000;
    for (const { keeper } of cluster.hosts) keeper.take({ type: "tick" });
    await cluster.settle(1_100);
    expect(cluster.started).toHaveLength(2);
  });
});

describe("a page", () => {
  const pageOf = async (cluster: Cluster, turns: readonly (readonly [number, string])[] = []) =>
    (await readPage(cluster.store, "emails", cluster.settings.limits, undefined, new Map(turns))).view;

  it("begins with the key behind the one that was served last, and shows few of many flows of one key [U5]", async () => {
    const cluster = await Cluster.of({ concurrency: 1 }, 0 + 1);
    for (const { keeper } of cluster.hosts) keeper.stop();
    const many = (lane: string): [string, number][] => Array.from({ length: 200 }, () => [lane, 3]);
    await cluster.put(...many("a"), ["b", 3], ["c", 3], ["z", 1]);
    const { candidates, next } = await pageOf(cluster, [[3, "b"]]);
    expect(next).toBeUndefined();
    const order = candidates.map(({ lane }) => lane).join("");
    expect(order).toMatch(/^zca+b$/);
    expect(order.length).toBeLessThanOrEqual(500);
  });

  it("of a queue without keys holds hundreds, and of many keys some of each, page after page [U9]", async () => {
    const cluster = await Cluster.of({ perKey: { concurrency: 1 } }, 1);
    for (const { keeper } of cluster.hosts) keeper.stop();
    const lanes = Array.from({ length: 250 }, (_, i) => [`k${1_000 + i}`, 0] as [string, number]);
    await cluster.put(...lanes);
    const seen: string[] = [];
    let from: Parameters<typeof readPage>[3];
    do {
      const { view } = await readPage(
        cluster.store,
        "emails",
        cluster.settings.limits,
        from,
        new Map([[0, "k1100"]]),
      );
      expect(view.candidates.length).toBeLessThanOrEqual(500);
      seen.push(...view.candidates.map(({ lane }) => lane));
      from = view.next;
    } while (from !== undefined);
    expect(seen[0]).toBe("k1101");
    expect(seen.at(-1)).toBe("k1100");
    expect([...seen].sort()).toEqual(lanes.map(([lane]) => lane));
  });
});
