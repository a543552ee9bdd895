// What people do with dead letters of a queue, on every kind of store.

import { System } from "signalbox";
import type { StoreSource } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DeadLetterNotFoundError } from "../../../lib/pipeline/messages/errors.js";
import { type MessageQueue, openQueues, type Queues } from "../../../lib/pipeline/queues/queues.js";
import { dead, done } from "../../../lib/pipeline/queues/status.js";
import { deadMessages, QUEUE_SCHEMA, queued } from "../../../lib/pipeline/queues/tables.js";
import { storeContext } from "../../../lib/store/open-store.js";
import { proving } from "../../support/proof.js";
import { everyKind, type QueuePlace } from "./kinds.js";
import { until } from "./waits.js";

interface Mail {
  readonly to: string;
}

everyKind(proving, (name, kind) => {
  describe(`dead letters ${name}`, () => {
    let place: QueuePlace;
    let system: System;
    let queues: Queues;
    let source: StoreSource;
    let n = 0;
    beforeAll(async () => {
      place = await kind.make();
      system = new System({ report: false });
      const options = await place.open();
      source = options.store;
      queues = await openQueues(system, options);
    });
    afterAll(async () => {
      await queues.close();
      await system.stop();
      await place.dispose();
    });

    /** A queue whose messages were all given up, for the reason that `why` gives. */
    async function mails(
      ids: readonly string[],
      why: (mail: Mail) => string = () => "no such mailbox",
    ): Promise<MessageQueue<Mail>> {
      const queue = queues.queue<Mail>(`mails${++n}`);
      await queue.publishMany(ids.map((id) => ({ id, value: { to: id } })));
      const subscription = await queue.subscribe({ concurrency: 8 }, ({ value }) => dead(why(value)));
      await until(async () => (await queue.counts()).dead === ids.length, "the dead letters");
      await subscription.stop();
      return queue;
    }

    async function delivered(queue: MessageQueue<Mail>, count: number): Promise<[string, string, number][]> {
      const seen: [string, string, number][] = [];
      const subscription = await queue.subscribe({}, ({ id, value, attempt }) => {
        seen.push([id, value.to, attempt]);
        return done;
      });
      await until(() => seen.length >= count, `${count} messages`);
      await subscription.stop();
      return seen.sort();
    }

    it("are put back with all of their attempts by a retry, and their record says who, when and why [Y442]", async () => {
      const queue = await mails(["a", "b", "c"]);
      const { letters } = await queue.deadLetters.retry(["a", "b"], { by: "ada", reason: "it is back" });
      expect(letters).toBe(2);
      expect(await delivered(queue, 2)).toEqual([
        ["a", "a", 1],
        ["b", "b", 1],
      ]);
      expect(await all(queue.deadLetters.records({ id: "a" }))).toMatchObject([
        { id: "a", turn: 1, fate: "retried", by: "ada", reason: "it is back", value: { to: "a" } },
      ]);
      expect((await queue.deadLetters.list()).map(({ id }) => id)).toEqual(["c"]);
      await expect(queue.deadLetters.retry("a")).rejects.toThrow(/no dead letter "a": it was retried/);
    });

    it("go on with another value after an edit, whose record keeps the old one, turn by turn [Y442]", async () => {
      const queue = await mails(["a"]);
      await queue.deadLetters.edit("a", { to: "A" }, { by: "ada" });
      const again = await queue.subscribe({}, () => dead("full"));
      await until(async () => (await queue.counts()).dead === 1, "the dead letter");
      await again.stop();
      await queue.deadLetters.edit("a", { to: "AA" });
      expect(await delivered(queue, 1)).toEqual([["a", "AA", 1]]);
      expect(await all(queue.deadLetters.records())).toMatchObject([
        { turn: 1, fate: "edited", by: "ada", value: { to: "a" }, errors: ["no such mailbox"] },
        { turn: 2, fate: "edited", value: { to: "A" }, errors: ["no such mailbox", "full"] },
      ]);
    });

    it("stay as they are when the value of an edit cannot be stored: the error names the way to it [Y442]", async () => {
      const queue = await mails(["a"]);
      const hostile = { to: { deep: [() => undefined] } } as unknown as Mail;
      await expect(queue.deadLetters.edit("a", hostile)).rejects.toMatchObject({
        code: "ERR_FLOW_UNSTORABLE",
        path: "value.to.deep[0]",
      });
      expect(await queue.counts()).toMatchObject({ dead: 1, ready: 0 });
      expect(await all(queue.deadLetters.records())).toEqual([]);
    });

    it("are given up for good by a drop, which needs a reason [Y442]", async () => {
      const queue = await mails(["a", "b"]);
      await expect(queue.deadLetters.drop("a", {} as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
      expect(await queue.deadLetters.drop({}, { reason: "spam" })).toEqual({ letters: 2 });
      expect(await queue.counts()).toEqual({ ready: 0, inFlight: 0, delayed: 0, dead: 0 });
      expect((await queue.publish({ to: "a" }, { id: "a" })).stored).toBe(false);
      const records = await all(queue.deadLetters.records());
      expect(records.map(({ fate, reason }) => [fate, reason])).toEqual(Array(2).fill(["dropped", "spam"]));
    });

    it("that were replayed are not replayed again unless that is asked for [Y441]", async () => {
      const queue = await mails(["a"]);
      await queue.deadLetters.replay("a");
      await expect(queue.deadLetters.replay("a")).rejects.toThrow(/it was replayed/);
      // As long as it waits, there is no second one of it.
      await expect(queue.deadLetters.replay("a", { again: true })).rejects.toThrow(DeadLetterNotFoundError);
      expect(await delivered(queue, 1)).toEqual([["a", "a", 1]]);
      await queue.deadLetters.replay("a", { again: true });
      expect(await delivered(queue, 1)).toEqual([["a", "a", 1]]);
      expect(await all(queue.deadLetters.records())).toMatchObject([{ fate: "replayed", copies: 1 }]);
    });

    it("are chosen by a filter, page by page and with a bound [Y443]", async () => {
      const ids = Array.from({ length: 25 }, (_, i) => `m${String(i).padStart(2, "0")}`);
      const queue = await mails(ids, ({ to }) => (to < "m20" ? "mailbox full" : "unknown"));
      const { deadLetters } = queue;
      const first = await deadLetters.retry({ error: "full", limit: 15 });
      expect(first).toMatchObject({ letters: 15, next: expect.any(String) });
      const rest = await deadLetters.retry({ error: "full", cursor: first.next as string });
      expect(rest).toEqual({ letters: 5 });
      expect(await queue.counts()).toMatchObject({ ready: 20, dead: 5 });
      expect(await deadLetters.drop({ before: 1 }, { reason: "old" })).toEqual({ letters: 0 });
      for (const wrong of [
        { limit: 10_001 },
        { limit: 0 },
        { cursor: "x" },
        { eror: "full" },
        { before: "x" },
      ])
        await expect(deadLetters.retry(wrong as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
      await expect(deadLetters.retry(["m24", "none"])).rejects.toThrow(/no dead letter "none"/);
      expect((await queue.counts()).dead).toBe(5);
    });

    it("that are put back keep the trace in which they were published [Y444]", async () => {
      const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
      const queue = await mails(["a", "b", "c"]);
      const store = await source.open([QUEUE_SCHEMA], storeContext(system.kernel));
      const update = { type: "update", table: deadMessages, set: { trace } } as const;
      await store.commit({ writes: ["a", "b", "c"].map((id) => ({ ...update, key: [queue.name, id] })) });
      await queue.deadLetters.retry("a");
      await queue.deadLetters.edit("b", { to: "B" });
      await queue.deadLetters.replay("c");
      const rows = await store.scan(queued, { index: "id", prefix: [queue.name] });
      expect(rows.map((row) => row.trace)).toEqual(Array(3).fill(trace));
      // It is given up once more, and keeps the trace.
      const again = await queue.subscribe({}, () => dead("full"));
      await until(async () => (await queue.counts()).dead === 3, "the dead letters");
      await again.stop();
      expect((await store.scan(deadMessages, { prefix: [queue.name] })).map((row) => row.trace)).toEqual(
        Array(3).fill(trace),
      );
      await store.close();
    });

    it("are put back once by any number of hosts at the same time [Y445]", async () => {
      const ids = ["a", "b", "c", "d", "e"];
      const queue = await mails(ids);
      const asked = await Promise.all([
        queue.deadLetters.retry({}),
        queue.deadLetters.retry({}),
        queue.deadLetters.drop({}, { reason: "spam" }),
      ]);
      expect(asked.reduce((sum, { letters }) => sum + letters, 0)).toBe(ids.length);
      const records = await all(queue.deadLetters.records());
      expect(records.map(({ id }) => id)).toEqual(ids);
      const back = records.filter(({ fate }) => fate === "retried").map(({ id }) => [id, id, 1]);
      expect((await queue.counts()).ready).toBe(back.length);
      if (back.length > 0) expect(await delivered(queue, back.length)).toEqual(back);
    });
  });
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
