// What is due of the messages of executions, against a naive model: whatever ledgers take, settle, delay and lose.

import * as fc from "fast-check";
import Database from "libsql";
import { defineTable, type Schema, type Store, type StoreSource } from "signalbox/store";
import { describe, expect, it } from "vitest";
import { dueMessages } from "../../../lib/pipeline/ledger/due-messages.js";
import { giveBack } from "../../../lib/pipeline/ledger/give-back.js";
import type { Message } from "../../../lib/pipeline/ledger/ledger.js";
import type { StoreLedger } from "../../../lib/pipeline/ledger/store-ledger.js";
import { executions, messages, PIPELINE_SCHEMA, READY } from "../../../lib/pipeline/ledger/tables.js";
import { STORE_DEFAULTS } from "../../../lib/store/limits.js";
import { checkScan } from "../../../lib/store/scans.js";
import { TableSql } from "../../../lib/store/sqlite/table-sql.js";
import { proving } from "../../support/proof.js";
import { storeContext } from "../../support/store-context.js";
import { storeKinds } from "../../support/store-kinds.js";
import { Bench } from "./bench.js";

const START = 1_000_000;
/** At most as many messages of a queue as are looked at for the oldest. */
const MOST = 16;
const FIRST = 14;
const QUEUES = ["a", "b"] as const;

const at = fc.nat({ max: MOST });
const by = fc.nat({ max: 1 });
const delayMs = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 50 }));
const STEP = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant("want" as const),
      by,
      queue: fc.constantFrom(...QUEUES),
      count: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("settle" as const), at, children: fc.nat({ max: 6 }) }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("retry" as const), at, delayMs }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("dead" as const), at }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("close" as const), by }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("lose" as const), by }) },
);
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

/** A message as the model has it. */
interface Modelled {
  readonly queue: string;
  /** Since when it may be worked on. */
  since: number;
  /** Which host has it. */
  by: number | undefined;
  /** As that host was given it. Undefined: it is on its way. */
  message: Message | undefined;
}

/** A store whose clock a test turns. */
function timed(source: StoreSource, now: () => number): StoreSource {
  return {
    label: source.label,
    open: async (...args) =>
      new Proxy(await source.open(...args), {
        get(target, name) {
          if (name === "clock") return async () => now();
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      }),
  };
}

/** One host of a store, or two if they can share it, and the model of both. */
class Hosts {
  readonly model = new Map<string, Modelled>();
  readonly #source: StoreSource;
  readonly #id: string;
  readonly #isRemote: boolean;
  #hosts: Bench[] = [];
  #ms = 0;
  #children = 0;

  /** @param isRemote - the store is a server's: what one host tells another one arrives there at any time, so there is one host */
  constructor(source: StoreSource, id: string, isRemote: boolean) {
    this.#isRemote = isRemote;
    this.#source = timed(source, () => START + this.#ms);
    this.#id = id;
  }

  get now(): number {
    return START + this.#ms;
  }

  get #shared(): boolean {
    return (this.#hosts[0] as Bench).store?.shared === true;
  }

  async open(): Promise<void> {
    const first = Array.from({ length: FIRST }, (_, n) => ({
      id: `m${n}`,
      queue: "a",
      value: n,
      key: undefined,
    }));
    for (const { id, queue } of first)
      this.model.set(id, { queue, since: this.now, by: undefined, message: undefined });
    this.#hosts = [await this.#opened(first)];
    if (this.#shared && !this.#isRemote) this.#hosts.push(await this.#opened(first));
    await this.settled();
  }

  async #opened(messages: ConstructorParameters<typeof Bench>[0]["messages"]): Promise<Bench> {
    const bench = new Bench({ messages: messages ?? [] });
    bench.clock.ms = this.#ms;
    await bench.open(this.#source, this.#id);
    return bench;
  }

  async close(): Promise<void> {
    for (const host of this.#hosts) {
      host.ledger.submit({ type: "end", as: "cancelled", error: undefined });
      await this.#quiet(host);
      await host.ledger.close();
      await host.claim.release();
      await host.store?.close();
    }
  }

  /** What hosts were given since. */
  async settled(): Promise<void> {
    // What one does may be news for the other.
    for (const host of [...this.#hosts, ...this.#hosts]) await this.#quiet(host);
    for (const [n, host] of this.#hosts.entries())
      for (const queue of QUEUES)
        for (const message of host.ear.take(queue))
          Object.assign(this.model.get(message.id) as Modelled, { by: n, message });
  }

  async #quiet(host: Bench): Promise<void> {
    await host.settled();
    if (!this.#isRemote) return;
    // Behind the requests that are in flight, and those that follow from their answers.
    for (let n = 0; n < 5; n++) {
      await host.store?.commit({ writes: [{ type: "clear", table: messages, prefix: [0] }] });
      await host.store?.count(executions, {});
      await host.settled();
    }
  }

  async step(step: Step): Promise<void> {
    const host = "by" in step ? (this.#hosts[step.by % this.#hosts.length] as Bench) : undefined;
    switch (step.type) {
      case "pass":
        this.#ms += step.ms;
        for (const { clock } of this.#hosts) clock.pass(step.ms);
        break;
      case "want":
        host?.ledger.want(step.queue, step.count);
        break;
      case "settle":
      case "retry":
      case "dead":
        this.#about(step);
        break;
      case "close":
      case "lose":
        await this.#gone(host as Bench, step.type);
        break;
      default:
        step satisfies never;
    }
    await this.settled();
  }

  #about(step: Extract<Step, { readonly at: number }>): void {
    const taken = [...this.model].filter(([, { message }]) => message !== undefined);
    const [id, one] = taken[step.at % taken.length] ?? [];
    if (id === undefined || one?.message === undefined || one.by === undefined) return;
    const { message, by } = one;
    const { ledger } = this.#hosts[by] as Bench;
    if (step.type === "settle") {
      // Never the last one: the execution goes on.
      const before = [...this.model.values()].filter(({ queue }) => queue === "b").length;
      const count = this.model.size === 1 ? 1 : Math.min(step.children, MOST - before);
      const children = Array.from({ length: count }, () => ({
        id: `c${++this.#children}`,
        queue: "b",
        value: 1,
        key: undefined,
      }));
      for (const { id: child, queue } of children)
        this.model.set(child, { queue, since: this.now, by: undefined, message: undefined });
      ledger.submit({ type: "settle", message, children, entry: undefined } as never);
      this.model.delete(id);
    } else if (step.type === "dead") {
      if (this.model.size === 1) return;
      ledger.submit({ type: "dead", message, error: "no", entry: undefined } as never);
      this.model.delete(id);
    } else {
      ledger.submit({ type: "retry", message, delayMs: step.delayMs, error: "no" } as never);
      one.message = undefined;
      // One that is tried again at once stays with its host.
      if (step.delayMs > 0) Object.assign(one, { by: undefined, since: this.now + step.delayMs });
    }
  }

  /** A host stops in order, or is lost and found to be. Another one comes. */
  async #gone(host: Bench, how: "close" | "lose"): Promise<void> {
    const n = this.#hosts.indexOf(host);
    if (how === "close" || !this.#shared) await host.ledger.close();
    await host.claim.release();
    await host.store?.close();
    for (const one of this.model.values())
      if (one.by === n) Object.assign(one, { by: undefined, message: undefined });
    const next = await this.#opened([]);
    this.#hosts[n] = next;
    const { store, claim } = next;
    if (store?.shared === true) await giveBack({ store, claim, owner: "test", rows: 400, carried: false });
  }

  /** The count by hand. */
  byHand(): { readonly due: number; readonly oldestDueMs: number } {
    const due = [...this.model.values()].filter(({ by, since }) => by === undefined && since <= this.now);
    return { due: due.length, oldestDueMs: Math.max(0, ...due.map(({ since }) => this.now - since)) };
  }

  /** What each host says. */
  seen(): Promise<unknown[]> {
    return Promise.all(
      this.#hosts.map(({ store, row, ledger }) =>
        dueMessages(store as Store, this.now, new Map([[row.number, ledger as StoreLedger]])),
      ),
    );
  }

  held(): { readonly wanted: number[]; readonly seen: number[] } {
    const all = [...this.model.values()];
    const wanted = this.#hosts.map((_, n) => all.filter(({ by }) => by === n).length);
    return { wanted, seen: this.#hosts.map(({ ledger }) => (ledger as StoreLedger).places().held) };
  }
}

describe.each(storeKinds("message_due", proving))("on $name", ({ name, source }) => {
  it("what is due, what has waited longest and what is held is what a model says, whatever hosts do [N1340]", async () => {
    let [most, longest, held, runs] = [0, 0, 0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 10, maxLength: 30 }), async (steps) => {
        const hosts = new Hosts(source(), `e${runs++}`, name === "PostgreSQL");
        await hosts.open();
        try {
          for (const step of steps) {
            await hosts.step(step);
            const wanted = hosts.byHand();
            for (const one of await hosts.seen()) expect(one).toEqual(wanted);
            const places = hosts.held();
            expect(places.seen).toEqual(places.wanted);
            most = Math.max(most, wanted.due);
            longest = Math.max(longest, wanted.oldestDueMs);
            held = Math.max(held, ...places.seen);
          }
        } finally {
          await hosts.close();
        }
      }),
      { numRuns: name.startsWith("P") ? 3 : 8, seed: 11 },
    );
    // Counted queue by queue, too.
    expect(most).toBeGreaterThan(MOST);
    expect(longest).toBeGreaterThan(100);
    expect(held).toBeGreaterThan(2);
  });
});

/** The schema of pipelines as its version 10 had it: messages do not say since when they are ready. */
function olderSchema(): readonly [schema: Schema, table: typeof messages] {
  const { since: _, ...columns } = messages.columns;
  const { key, indexes } = messages;
  const table = defineTable(messages.name, { columns, key: key as never, indexes: indexes as never });
  const tables = PIPELINE_SCHEMA.tables.map((one) => (one.name === table.name ? table : one));
  return [{ ...PIPELINE_SCHEMA, version: 10, tables: tables as never }, table as never];
}

describe.each(storeKinds("message_older", proving))("on $name", ({ source }) => {
  it("a store of an older release opens, and what it has is due, of unknown age unless it was delayed [N1341]", async () => {
    const [schema, older] = olderSchema();
    const context = storeContext();
    const before = await source().open([schema], context);
    const run = { number: 1, id: "run-7", pipeline: "test", status: "running", pending: 4, inputs: 4 };
    const row = { scope: 1, queue: "a", body: "1" };
    await before.commit({
      writes: [
        { type: "insert", table: executions, row: { ...run, done: 0, dead: 0, created: 1 } },
        ...["m0", "m1"].map(
          (id) => ({ type: "put", table: older, row: { ...row, lane: READY, id } }) as const,
        ),
        ...[START - 30, START + 30].map(
          (lane) => ({ type: "put", table: older, row: { ...row, lane, id: `d${lane}` } }) as const,
        ),
      ],
    });
    await before.close();
    const store = await source().open([PIPELINE_SCHEMA], context);
    const all = { known: new Set<string>(), from: "" };
    const ledgers = new Map([[1, { handedOut: () => all }]]);
    expect(await dueMessages(store, START, ledgers)).toEqual({ due: 3, oldestDueMs: 30 });
    const late = {
      type: "put",
      table: messages,
      row: { ...row, lane: READY, id: "m2", since: START - 40 },
    } as const;
    await store.commit({ writes: [late] });
    expect(await dueMessages(store, START, ledgers)).toEqual({ due: 4, oldestDueMs: 40 });
    // More than is looked at: each queue is counted, and what was delayed counts there as well.
    const more = Array.from({ length: MOST + 1 }, (_, n) => ({
      lane: READY,
      id: `n${n}`,
      since: START - 10,
    }));
    const delayed = { lane: START - 50, id: "n" };
    await store.commit({
      writes: [...more, delayed].map(
        (one) => ({ type: "put", table: messages, row: { ...row, ...one, queue: "b" } }) as const,
      ),
    });
    expect(await dueMessages(store, START, ledgers)).toEqual({ due: 4 + MOST + 2, oldestDueMs: 50 });
    await store.close();
    await expect(source().open([schema], context)).rejects.toMatchObject({ code: "ERR_STORE_VERSION" });
  });
});

it("a look ends at its bounds, and reads messages by their keys alone [N1342]", async () => {
  const plans = new Map(
    [executions, messages].map((table) => {
      const sql = new TableSql(table as typeof messages);
      const database = new Database(":memory:");
      database.exec(sql.create());
      for (const index of sql.indexes().values()) database.exec(index);
      return [table.name, { sql, database }] as const;
    }),
  );
  const plan = (table: typeof messages, scan: object, atMost?: number): void => {
    const { sql, database } = plans.get(table.name) as {
      sql: TableSql;
      database: InstanceType<typeof Database>;
    };
    const checked = checkScan(table, scan, STORE_DEFAULTS);
    const { sql: text, parameters } = atMost === undefined ? sql.scan(checked) : sql.count(checked, atMost);
    for (const line of database.prepare(`explain query plan ${text}`).all(...parameters))
      expect((line as { readonly detail: string }).detail).toMatch(
        /^SEARCH .* USING INDEX (sqlite_autoindex_\S+|\S+_status) \((scope|status)=\?|^CO-ROUTINE|^SCAN \(subquery/,
      );
  };
  let [reads, executed, free] = [0, 0, 0];
  const store = {
    shared: true,
    count: async (table: typeof messages, { atMost, ...scan }: { readonly atMost: number }) => {
      reads++;
      plan(table, scan, atMost);
      return 1;
    },
    scan: async (
      table: typeof messages,
      scan: { readonly limit: number; readonly after?: string; readonly prefix: readonly unknown[] },
    ) => {
      plan(table, scan);
      if ((table as unknown) === executions)
        return Array.from({ length: scan.limit }, () => ({ number: ++executed }));
      reads++;
      if (scan.limit === MOST + 1 && scan.prefix.length === 1)
        return Array.from({ length: free }, (_, n) => ({ queue: "a", id: `m${n}`, since: 1, lane: READY }));
      return scan.limit === 1 && scan.after !== undefined ? [] : [{ queue: "a", id: "m", since: 1, lane: 1 }];
    },
  };
  const look = () => dueMessages(store as unknown as Store, START, new Map());
  free = MOST;
  expect([await look(), executed, reads]).toEqual([
    { due: 1_000 * MOST, oldestDueMs: START - 1 },
    1_000,
    1_000,
  ]);
  // More is free than is looked at: each queue is counted.
  [reads, executed, free] = [0, 0, MOST + 1];
  expect([await look(), executed, reads]).toEqual([{ due: 1_000, oldestDueMs: START - 1 }, 1_000, 6_000]);
});
