// The signals of a queue for an autoscaler: what is due in the store, against a naive model of it, and what the subscribers can take.

import * as fc from "fast-check";
import Database from "libsql";
import { System } from "signalbox";
import { prometheus } from "signalbox/service";
import { type Claim, memory, openStore, type Store } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { MOST_DUE } from "../../../lib/host/signals.js";
import { QUEUE_DEFAULTS } from "../../../lib/pipeline/queues/limits.js";
import { dueInQueue } from "../../../lib/pipeline/queues/queue-signals.js";
import { QueueStore } from "../../../lib/pipeline/queues/queue-store.js";
import { openQueues } from "../../../lib/pipeline/queues/queues.js";
import type { done } from "../../../lib/pipeline/queues/status.js";
import { QUEUE_SCHEMA, type QueuedRow, queued } from "../../../lib/pipeline/queues/tables.js";
import { STORE_DEFAULTS } from "../../../lib/store/limits.js";
import { checkScan } from "../../../lib/store/scans.js";
import { TableSql } from "../../../lib/store/sqlite/table-sql.js";
import { proving } from "../../support/proof.js";
import { storeKinds } from "../../support/store-kinds.js";

const START = 1_000_000;
const MINUTE = 60_000;
/** At most as many as are looked at for the oldest. */
const MOST = 16;
const SUBSCRIBERS = 2;

const delayMs = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 50 }));
const by = fc.nat({ max: SUBSCRIBERS - 1 });
const STEP = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("publish" as const), delayMs }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("take" as const), by, count: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("done" as const), at: fc.nat({ max: MOST }) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("dead" as const), at: fc.nat({ max: MOST }) }) },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant("retry" as const), at: fc.nat({ max: MOST }), delayMs }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("release" as const), by }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("lose" as const), by }) },
);
type Step = typeof STEP extends fc.Arbitrary<infer T> ? T : never;

/** A message as the model has it. */
interface Modelled {
  /** Since when it can be taken. */
  since: number;
  /** Who has taken it, and its row then. */
  held: { readonly by: number; readonly row: QueuedRow } | undefined;
}

/** A queue, its subscribers, and the model of both. */
class Bench {
  readonly store: Store;
  readonly queue: QueueStore;
  readonly model = new Map<string, Modelled>();
  readonly #claims: Claim[] = [];
  #now = START;
  #published = 0;

  constructor(store: Store, name: string) {
    this.store = store;
    const time = { now: () => this.#now, read: async () => undefined };
    this.queue = new QueueStore(name, store, time as never, QUEUE_DEFAULTS.queue, false);
  }

  async open(): Promise<void> {
    for (let by = 0; by < SUBSCRIBERS; by++) await this.#enter(by);
  }

  async close(): Promise<void> {
    for (const claim of this.#claims) await claim.release();
    await this.store.commit({
      writes: [{ type: "clear", table: queued, index: "id", prefix: [this.queue.name] }],
    });
  }

  async #enter(by: number): Promise<void> {
    const name = `${this.queue.claims}${by}`;
    const claim = await this.store.claim(name, { owner: "test" });
    if (claim === undefined) throw new Error(`${name} is not free`);
    this.#claims[by] = claim;
    await this.queue.enter(claim, 1);
  }

  #heldBy(by: number): Modelled[] {
    return [...this.model.values()].filter(({ held }) => held?.by === by);
  }

  async step(step: Step): Promise<void> {
    switch (step.type) {
      case "publish":
        return this.#publish(step.delayMs);
      case "pass":
        this.#now += step.ms;
        return;
      case "take": {
        const { rows } = await this.queue.take(this.#claims[step.by] as Claim, step.count);
        for (const row of rows) (this.model.get(row.id) as Modelled).held = { by: step.by, row };
        return;
      }
      case "done":
      case "dead":
      case "retry":
        return this.#settle(step);
      case "release": {
        const some = this.#heldBy(step.by);
        const rows = some.flatMap(({ held }) => held?.row ?? []);
        await this.queue.release(this.#claims[step.by] as Claim, rows);
        for (const one of some) one.held = undefined;
        return;
      }
      case "lose":
        await this.#claims[step.by]?.release();
        await this.queue.recover();
        for (const one of this.#heldBy(step.by)) one.held = undefined;
        return this.#enter(step.by);
      default:
        step satisfies never;
    }
  }

  async #publish(delayMs: number): Promise<void> {
    if (this.model.size === MOST) return;
    const id = `m${this.#published++}`;
    await this.queue.publish([{ id, named: false, body: "v", tag: null, delayMs }]);
    this.model.set(id, { since: this.#now + delayMs, held: undefined });
  }

  async #settle(step: Extract<Step, { readonly at: number }>): Promise<void> {
    const taken = [...this.model].filter(([, { held }]) => held !== undefined);
    const [id, one] = taken[step.at % taken.length] ?? [];
    if (id === undefined || one?.held === undefined) return;
    const { by, row } = one.held;
    const verdict = step.type === "done" ? step : { delayMs: 0, error: "no", ...step };
    await this.store.commit(this.queue.settlement(this.#claims[by] as Claim, row, { verdict, children: [] }));
    if (step.type !== "retry") this.model.delete(id);
    else this.model.set(id, { since: this.#now + step.delayMs, held: undefined });
  }

  /** The count by hand. */
  byHand(): { readonly due: number; readonly oldestDueMs: number } {
    const all = [...this.model.values()];
    const due = all.filter(({ held, since }) => held === undefined && since <= this.#now);
    return { due: due.length, oldestDueMs: Math.max(0, ...due.map(({ since }) => this.#now - since)) };
  }

  seen(): Promise<unknown> {
    return dueInQueue(this.store, this.queue.name, this.#now);
  }
}

describe.each(storeKinds("queue_due", proving))("on $name", ({ source }) => {
  it("what is due and what has waited longest is what a model says, whatever publishers and subscribers do [N1330]", async () => {
    await using system = new System({ report: false });
    await using store = await openStore(system, source(), [QUEUE_SCHEMA]);
    let [most, longest, runs] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(STEP, { minLength: 20, maxLength: 50 }), async (steps) => {
        const bench = new Bench(store, `q${runs++}`);
        await bench.open();
        for (const step of steps) {
          await bench.step(step);
          const wanted = bench.byHand();
          expect(await bench.seen()).toEqual(wanted);
          most = Math.max(most, wanted.due);
          longest = Math.max(longest, wanted.oldestDueMs);
        }
        await bench.close();
      }),
      { numRuns: 8, seed: 7 },
    );
    expect(most).toBeGreaterThan(4);
    expect(longest).toBeGreaterThan(50);
  });

  it("the oldest is found behind many that were tried, and in a store of an older release only what is known counts [N1331]", async () => {
    await using system = new System({ report: false });
    await using store = await openStore(system, source(), [QUEUE_SCHEMA]);
    const bench = new Bench(store, "tried");
    const row = bench.queue.row({ id: "", named: false, body: "v", tag: null, delayMs: 0 });
    const put = (n: number, more: Partial<QueuedRow>) =>
      ({ type: "insert", table: queued, row: { ...row, id: `r${n}`, ...more } }) as const;
    const tried = Array.from({ length: 3 * MOST }, (_, n) => put(n, { attempts: 1, due: START - 5 }));
    await store.commit({ writes: [...tried, put(100, { due: START - 70 }), put(101, { due: START - 60 })] });
    expect(await bench.seen()).toEqual({ due: 3 * MOST + 2, oldestDueMs: 70 });
    await bench.close();
    await store.commit({ writes: [put(0, { due: null }), put(1, { due: START - 3 })] });
    expect(await bench.seen()).toEqual({ due: 2, oldestDueMs: 3 });
    await bench.close();
  });
});

it("a look ends at its bound, and reads by the indexes alone [N1332]", async () => {
  const sql = new TableSql(queued);
  const database = new Database(":memory:");
  database.exec(sql.create());
  for (const index of sql.indexes().values()) database.exec(index);
  const asked: unknown[] = [];
  const plan = ({ sql: text, parameters }: { sql: string; parameters: readonly unknown[] }) => {
    for (const line of database.prepare(`explain query plan ${text}`).all(...parameters))
      expect((line as { readonly detail: string }).detail).toMatch(
        /^SEARCH .* USING (COVERING )?INDEX|^CO-ROUTINE|^SCAN \(subquery/,
      );
  };
  const row = { number: 5, attempts: 1, due: START };
  const store = {
    count: async (_table: unknown, { atMost, ...scan }: { readonly atMost: number }) => {
      asked.push(atMost);
      plan(sql.count(checkScan(queued, scan, STORE_DEFAULTS), atMost));
      return MOST_DUE;
    },
    scan: async (_table: unknown, scan: { readonly limit: number }) => {
      asked.push(scan.limit);
      plan(sql.scan(checkScan(queued, scan, STORE_DEFAULTS)));
      return Array.from({ length: scan.limit }, () => row);
    },
  };
  expect(await dueInQueue(store as never, "q", START)).toEqual({ due: MOST_DUE, oldestDueMs: 0 });
  expect(asked).toEqual([MOST_DUE, MOST_DUE, 16, 1, 1]);
  database.close();
});

/** Queues in virtual time. */
async function opened() {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  const queues = await clock.until(openQueues(system, { store: memory() }));
  return { clock, system, queues, end: () => clock.until(queues.close().then(() => system.stop())) };
}

it("a queue says what waits, how long, what the subscribers here could take and what they hold [N1333]", async () => {
  const { clock, system, queues, end } = await opened();
  const queue = queues.queue<number>("orders");
  const signals = () => clock.until(queue.signals());
  for (let n = 0; n < 5; n++) await clock.until(queue.publish(n));
  await clock.until(queue.publish(5, { delay: MINUTE }));
  const first = await signals();
  expect(first).toMatchObject({ due: 5, room: 0, held: 0 });
  const policy = { prefetch: 2, timeoutMs: Number.POSITIVE_INFINITY };
  const endless = () => new Promise<typeof done>(() => undefined);
  const one = await clock.until(queue.subscribe(policy, endless));
  await clock.advance(1);
  expect(await signals()).toMatchObject({ due: 3, room: 0, held: 2 });
  const two = await clock.until(queue.subscribe({ ...policy, prefetch: 9 }, endless));
  await clock.advance(1);
  expect(await signals()).toEqual({ due: 0, oldestDueMs: 0, room: 6, held: 5 });
  // One that is killed holds nothing: its messages have waited since they were published.
  for (const { pid } of [one, two]) system.exit(pid, "kill");
  await clock.advance(2 * MINUTE);
  const last = await signals();
  expect(last).toMatchObject({ due: 6, room: 0, held: 0 });
  expect(last.oldestDueMs - first.oldestDueMs).toBeGreaterThanOrEqual(2 * MINUTE);
  await end();
});

it("the page of metrics has the signals of the queues that have subscribers here [N1334]", async () => {
  const { clock, system, queues, end } = await opened();
  const metrics = prometheus(system, { runtime: false });
  const page = async (): Promise<string[]> => {
    const lines = metrics
      .text()
      .split("\n")
      .filter((line) => line.startsWith("signalbox_host_"));
    await clock.advance(1);
    return lines.map((line) =>
      line.replace(/^signalbox_host_(\w+)\{.*kind="queues",host="(\w+)"\}/, "$2 $1"),
    );
  };
  const queue = queues.queue<number>("orders");
  await clock.until(queues.queue<number>("others").publish(1));
  for (let n = 0; n < 3; n++) await clock.until(queue.publish(n));
  const policy = { prefetch: 1, timeoutMs: Number.POSITIVE_INFINITY };
  const subscription = await clock.until(
    queue.subscribe(policy, ({ signal }) => new Promise((_, stop) => signal.addEventListener("abort", stop))),
  );
  await clock.advance(MINUTE);
  await page();
  const [due, oldest, ...more] = await page();
  expect([due, ...more]).toEqual(["orders due 2", "orders room 0", "orders held 1"]);
  expect(Number(oldest?.replace("orders due_oldest_seconds ", ""))).toBeGreaterThanOrEqual(MINUTE / 1_000);
  system.exit(subscription.pid, "kill");
  await clock.advance(1);
  expect(await page()).toEqual([]);
  await end();
});
