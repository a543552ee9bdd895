// What all kinds of store have in common, with a driver of the test's own.

import {
  memory,
  type Store,
  StoreError,
  StoreOverloadedError,
  StoreUnsupportedError,
  type WriteSet,
} from "signalbox/store";
import { describe, expect, it } from "vitest";
import type { Applied, StoreDriver } from "../../lib/store/driver.js";
import type { Recovery } from "../../lib/store/group-commit-machine.js";
import { GroupedStore, StoreEngine } from "../../lib/store/grouped-store.js";
import { STORE_DEFAULTS, type StoreLimits } from "../../lib/store/limits.js";
import { storeContext, type TestContext } from "../support/store-context.js";
import { SCHEMA } from "./conformance/bench.js";
import { log, plain } from "./random-sets.js";

const DONE = { results: [1] };

/** A driver whose groups end when the test says so. */
class Puppet {
  readonly groups: {
    readonly sets: readonly WriteSet[];
    resolve(applied: Applied): void;
    reject(error: unknown): void;
  }[] = [];
  readonly waits: { readonly ms: number; readonly fn: () => void }[] = [];
  readonly context: TestContext;
  readonly store: Store;
  recovers: Recovery = "fail";

  constructor(limits: Partial<StoreLimits> = {}) {
    const after = (ms: number, fn: () => void): (() => void) => {
      this.waits.push({ ms, fn });
      return () => undefined;
    };
    this.context = { ...storeContext(), after };
    const driver = {
      label: "puppet",
      shared: false,
      renews: false,
      apply: (sets: readonly WriteSet[]) =>
        new Promise<Applied>((resolve, reject) => this.groups.push({ sets, resolve, reject })),
      recovery: () => this.recovers,
      close: async () => undefined,
    } as unknown as StoreDriver;
    const engine = new StoreEngine(driver, this.context, { ...STORE_DEFAULTS, ...limits });
    engine.tables.add(log.name).add(plain.name);
    this.store = new GroupedStore(engine, this.context, async () => undefined);
  }

  /** The next group is committed. */
  async commit(): Promise<void> {
    const group = this.groups.shift();
    group?.resolve({ outcomes: group.sets.map(() => DONE) });
    await settle();
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const insert = (flow: string): WriteSet => ({ writes: [{ type: "insert", table: log, row: { flow } }] });
const flows = (sets: readonly WriteSet[]): unknown[] =>
  sets.map(({ writes }) => (writes[0] as unknown as { row: { flow: string } }).row.flow);

describe("a store", () => {
  it("commits a lonely set at once, and the others together behind it [K8]", async () => {
    const puppet = new Puppet();
    const one = puppet.store.commit(insert("a"));
    await settle();
    expect(puppet.groups.map(({ sets }) => flows(sets))).toEqual([["a"]]);
    const more = [puppet.store.commit(insert("b")), puppet.store.commit(insert("c"))];
    await settle();
    expect(puppet.groups).toHaveLength(1);
    await puppet.commit();
    await one;
    expect(puppet.groups.map(({ sets }) => flows(sets))).toEqual([["b", "c"]]);
    await puppet.commit();
    expect(await Promise.all(more)).toEqual([DONE, DONE]);
  });

  it("refuses more than it may queue, and says what to do", async () => {
    const puppet = new Puppet({ queuedBytes: 1_000 });
    const first = puppet.store.commit(insert("a"));
    await settle();
    const sets = Array.from({ length: 50 }, () => puppet.store.commit(insert("x".repeat(30))));
    const outcomes = Promise.allSettled(sets);
    await puppet.commit();
    await first;
    await puppet.commit();
    const refused = (await outcomes).filter(({ status }) => status === "rejected") as PromiseRejectedResult[];
    expect(refused.length).toBeGreaterThan(30);
    expect(refused.length).toBeLessThan(50);
    expect(refused[0]?.reason).toBeInstanceOf(StoreOverloadedError);
    expect(refused[0]?.reason).toMatchObject({ code: "ERR_STORE_OVERLOADED" });
    expect(refused[0]?.reason.message).toMatch(
      /wait for the store puppet, which queues 1000 bytes at most; wait for earlier ones/,
    );
  });

  it("gives each set of a failed group the error of the driver, wrapped", async () => {
    const puppet = new Puppet();
    const both = Promise.allSettled([puppet.store.commit(insert("a")), puppet.store.commit(insert("b"))]);
    await settle();
    const cause = new Error("disk I/O error");
    puppet.groups.shift()?.reject(cause);
    const errors = (await both).map((one) => (one as PromiseRejectedResult).reason);
    expect(errors).toHaveLength(2);
    for (const error of errors) {
      expect(error).toBeInstanceOf(StoreError);
      expect(error).toMatchObject({ code: "ERR_STORE", cause });
      expect(error.message).toBe("the store puppet failed: Error: disk I/O error");
    }
  });

  it("tries a group again that failed for a reason that passes", async () => {
    const puppet = new Puppet();
    puppet.recovers = "retry";
    const set = puppet.store.commit(insert("a"));
    await settle();
    puppet.groups.shift()?.reject(new Error("deadlock"));
    await settle();
    expect(puppet.groups).toHaveLength(0);
    expect(puppet.waits.map(({ ms }) => ms)).toEqual([2]);
    puppet.waits[0]?.fn();
    await settle();
    await puppet.commit();
    expect(await set).toBe(DONE);
  });

  it("goes on when a callback throws, and warns", async () => {
    const puppet = new Puppet();
    const settled: string[] = [];
    puppet.store.submit(insert("a"), () => {
      throw new Error("my own");
    });
    puppet.store.submit(insert("b"), () => settled.push("b"));
    await settle();
    await puppet.commit();
    expect(settled).toEqual(["b"]);
    expect(puppet.context.warnings).toMatchObject([{ code: "store-callback" }]);
    expect(puppet.context.warnings[0]?.message).toContain("my own");
  });

  it("goes on when a watcher throws, and warns", async () => {
    const puppet = new Puppet();
    const topics: string[] = [];
    const bad = {
      notified: () => {
        throw new Error("my own");
      },
      again: () => undefined,
    };
    puppet.store.watch("", bad);
    puppet.store.watch("", { notified: (topic) => topics.push(topic), again: () => undefined });
    const one = puppet.store.commit({ ...insert("a"), notify: ["mail"] });
    await settle();
    const two = puppet.store.commit(insert("b"));
    await puppet.commit();
    await puppet.commit();
    expect(await Promise.all([one, two])).toEqual([DONE, DONE]);
    expect(topics).toEqual(["mail"]);
    expect(puppet.context.warnings).toMatchObject([{ code: "store-callback" }]);
  });

  it("fails a group whose driver throws instead of rejecting", async () => {
    const puppet = new Puppet();
    puppet.groups.push = () => {
      throw new Error("out of order");
    };
    await expect(puppet.store.commit(insert("a"))).rejects.toThrow(
      /the store puppet failed: Error: out of order/,
    );
  });

  it("waits at its close for all that was submitted, also when its queue is full", async () => {
    const puppet = new Puppet({ queuedBytes: 200 });
    const settled: string[] = [];
    puppet.store.submit(insert("a"), () => settled.push("a"));
    await settle();
    puppet.store.submit(insert("x".repeat(900)), () => settled.push("b"));
    const closing = puppet.store.close().then(() => settled.push("closed"));
    await settle();
    await puppet.commit();
    expect(settled).toEqual(["a"]);
    await puppet.commit();
    await closing;
    expect(settled).toEqual(["a", "b", "closed"]);
  });

  it("refuses limits that it does not know or that make no sense", () => {
    expect(() => memory({ limits: { groupByte: 5 } as never })).toThrow(
      /groupByte must be absent: did you mean groupBytes/,
    );
    expect(() => memory({ limits: { groupBytes: 0 } })).toThrow(/limits.groupBytes must be a number above 0/);
  });

  it("closes when the groups in flight have ended", async () => {
    const puppet = new Puppet();
    const settled: string[] = [];
    puppet.store.submit(insert("a"), () => settled.push("a"));
    await settle();
    puppet.store.submit(insert("b"), () => settled.push("b"));
    const closing = puppet.store.close().then(() => settled.push("closed"));
    await settle();
    expect(settled).toEqual([]);
    await puppet.commit();
    await puppet.commit();
    await closing;
    expect(settled).toEqual(["a", "b", "closed"]);
  });

  it("has no transactions of SQL and no backup unless its kind has [K9]", async () => {
    const store = await memory().open([SCHEMA], storeContext());
    await expect(store.transaction(async () => 1)).rejects.toThrow(StoreUnsupportedError);
    await expect(store.backup("copy.db")).rejects.toMatchObject({ code: "ERR_STORE_UNSUPPORTED" });
    await store.close();
  });

  it("refuses a set that is larger than a set may be, and only that one", async () => {
    const store = await memory({ limits: { setBytes: 1_000 } }).open([SCHEMA], storeContext());
    const big = store.commit({
      writes: [{ type: "put", table: plain, row: { id: "a", body: "x".repeat(2_000) } }],
    });
    const small = store.commit(insert("a"));
    await expect(big).rejects.toThrow(/in a write set of at most 1000 bytes/);
    expect((await small).results).toEqual([1]);
    await store.close();
  });
});
