// The messages of a queue that are not settled: which wait, and why, which a subscriber has, and which may be taken; and how little a look reads.

import { System } from "signalbox";
import { memory, openStore, type Store } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import { readLive } from "../../../lib/pipeline/queues/live-messages.js";
import { boundedCounts, readCounts } from "../../../lib/pipeline/queues/queue-counts.js";
import { openQueues } from "../../../lib/pipeline/queues/queues.js";
import { done, retry } from "../../../lib/pipeline/queues/status.js";
import { QUEUE_SCHEMA, queued } from "../../../lib/pipeline/queues/tables.js";
import { collect } from "../../admin/support/wire.js";
import { gate } from "../../support/gate.js";

/** A queue with messages in every state: `held` is with a subscriber, `failed` waits for its next attempt, `later` was published for later. */
async function mails() {
  const system = new System({ report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const source = memory();
  const queues = await openQueues(system, { store: source });
  const store = await openStore(system, source, [QUEUE_SCHEMA]);
  onTestFinished(() => store.close());
  const queue = queues.queue<string>("mails");
  const begun = gate();
  const go = gate();
  await queue.publish("f", { id: "failed", key: "ada" });
  await queue.publish("h", { id: "held" });
  await queue.publish("l", { id: "later", delay: "2 h" });
  await queue.subscribe({ concurrency: 2, prefetch: 2 }, async ({ id }) => {
    if (id === "failed") return retry({ delay: "1 h", reason: "the shop is closed" });
    begun.open();
    await go.promise;
    return done;
  });
  await begun.promise;
  await expect.poll(async () => (await queue.counts()).delayed).toBe(2);
  return { on: queues.operations, queues, store, queue, go };
}

/** Changes columns of a message. */
async function change(store: Store, id: string, set: Record<string, string | number | null>): Promise<void> {
  const [row] = await store.scan(queued, { index: "id", prefix: ["mails", id] });
  if (row === undefined) throw new Error(`there is no message ${id}`);
  await store.commit({ writes: [{ type: "update", table: queued, key: [row.number], set }] });
}

test("are listed with their states, the time until which they wait, and why [N1556]", async () => {
  const { on, store, go, queues } = await mails();
  const found = await on.messages("mails");
  expect(found).toMatchObject([
    {
      ...{ id: "failed", state: "delayed", why: "attempt", key: "ada", attempts: 1, ends: 0 },
      history: [{ attempt: 1, error: "the shop is closed" }],
    },
    { id: "later", state: "delayed", why: "publisher", attempts: 0, history: [] },
    { id: "held", state: "inFlight" },
  ]);
  expect((found[1]?.until ?? 0) > (found[0]?.until ?? 0)).toBe(true);
  expect(found[2]).not.toHaveProperty("until");
  const ended = [{ attempt: 1, at: 5, error: "ended its process (exit), once", evidence: "exit" }];
  await change(store, "failed", { history: JSON.stringify(ended), quarantines: 1 });
  const busy = [{ attempt: 1, at: 5, error: "busy", setbacks: 3 }];
  await change(store, "later", { history: JSON.stringify(busy) });
  const [aside, setback] = await on.messages("mails", { state: "delayed" });
  expect([aside, setback]).toMatchObject([
    { id: "failed", why: "quarantine", ends: 1, history: ended },
    { id: "later", why: "setback" },
  ]);
  go.open();
  await queues.close();
});

test("are read no further than was asked for, of the wanted state, and wrong options are refused [N1556]", async () => {
  const { on, store, queue, go, queues } = await mails();
  await queue.publish("x", { id: "r1" });
  const idsOf = async (options: object) => (await on.messages("mails", options)).map(({ id }) => id);
  expect(await idsOf({ state: "inFlight" })).toContain("held");
  expect(await idsOf({ limit: 1 })).toEqual(["failed"]);
  expect(await on.messages("forms")).toEqual([]);
  const limits: (number | undefined)[] = [];
  const { scan } = store;
  store.scan = (table, range) => {
    if (table.name === "queue_messages") limits.push(range.limit);
    return scan.call(store, table, range) as never;
  };
  await readLive(store, "mails", { limit: 1_000_000 });
  expect(Math.max(...limits.map((limit = 0) => limit))).toBeLessThanOrEqual(500);
  for (const wrong of [{ limit: 0 }, { state: "dead" }, { of: 1 }])
    await expect(on.messages("mails", wrong as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
  go.open();
  await queues.close();
});

test("are counted to a bound as without one while there are few, and no further than the bound [N1557]", async () => {
  const { on, store, queue, go, queues } = await mails();
  await queue.publishMany(Array.from({ length: 20 }, (_, i) => ({ value: "x", id: `n${i}`, delay: "1 h" })));
  const whole = await readCounts(store, "mails");
  expect(await boundedCounts(store, "mails", 1_000)).toEqual(whole);
  expect(whole).toMatchObject({ inFlight: 1, delayed: 22 });
  expect(await collect(on.list({ atMost: 5 }))).toMatchObject([{ name: "mails", inFlight: 1, delayed: 5 }]);
  await expect(collect(on.list({ atMost: 0 }))).rejects.toMatchObject({ code: "ERR_OPTION" });
  go.open();
  await queues.close();
});
