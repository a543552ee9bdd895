// The operations on queues: over every kind of store, and over the socket of the program that has a file open.

import { existsSync, statSync } from "node:fs";
import { OptionError, System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, test } from "vitest";
import { reach as reachFlows } from "../../../lib/cli/flows/reach.js";
import { reach } from "../../../lib/cli/queues/reach.js";
import type { QueueListFilter, QueueOperations } from "../../../lib/pipeline/queues/operations.js";
import { openQueues, type Queues } from "../../../lib/pipeline/queues/queues.js";
import { dead } from "../../../lib/pipeline/queues/status.js";
import { collect } from "../../admin/support/wire.js";
import { folderWith } from "../../cli/pipelines/support.js";
import { everyKind, type QueuePlace } from "./kinds.js";
import { until } from "./waits.js";

/** A queue whose messages were all given up. */
async function deadQueue(queues: Queues, name: string, ids: readonly string[]): Promise<void> {
  const queue = queues.queue<{ readonly to: string }>(name);
  await queue.publishMany(ids.map((id) => ({ id, value: { to: id } })));
  const subscription = await queue.subscribe({ concurrency: 8 }, ({ id }) => dead(`no mailbox ${id}`));
  await until(async () => (await queue.counts()).dead === ids.length, "the dead letters");
  await subscription.stop();
}

everyKind(false, (name, kind) => {
  describe(`operations on queues ${name}`, () => {
    let place: QueuePlace;
    let system: System;
    let queues: Queues;
    let on: QueueOperations;
    beforeAll(async () => {
      place = await kind.make();
      system = new System({ report: false });
      queues = await openQueues(system, await place.open());
      on = queues.operations;
    });
    afterAll(async () => {
      await queues.close();
      await system.stop();
      await place.dispose();
    });

    it("list every queue that has messages, dead letters or remembered ids, with its counts [Y691]", async () => {
      await queues.queue("b-ready").publishMany([{ value: 1 }, { value: 2 }, { value: 3, delay: "1 h" }]);
      await deadQueue(queues, "a-dead", ["x", "y"]);
      await deadQueue(queues, "c-dropped", ["z"]);
      await on.dropDead("c-dropped", "z", { reason: "no customer" });
      const empty = { ready: 0, inFlight: 0, delayed: 0, dead: 0 };
      const found = (await collect(on.list())).filter(({ name: one }) => /^[abc]-/.test(one));
      expect(found).toEqual([
        { ...empty, name: "a-dead", dead: 2 },
        { ...empty, name: "b-ready", ready: 2, delayed: 1 },
        { ...empty, name: "c-dropped" },
      ]);
      const names = async (filter: QueueListFilter): Promise<readonly string[]> =>
        (await collect(on.list(filter))).map(({ name: one }) => one);
      expect(await names({ after: "a-dead", limit: 2 })).toEqual(["b-ready", "c-dropped"]);
      expect(await names({ after: "zzz" })).toEqual([]);
    });

    it("list dead letters and what became of them, behind any place, and retry, edit and drop them [Y692]", async () => {
      await deadQueue(queues, "mails", ["m1", "m2", "m3", "m4"]);
      const letters = await collect(on.deadLetters("mails", { after: "m1", limit: 2 }));
      expect(letters).toMatchObject([
        { id: "m2", value: { to: "m2" }, attempts: 1, history: [{ error: "no mailbox m2" }] },
        { id: "m3" },
      ]);
      expect(await on.retryDead("mails", { error: "m1" }, { by: "Ada", reason: "mended" })).toEqual({
        letters: 1,
      });
      await on.editDead("mails", "m2", { to: "Ben" }, { by: "Ada" });
      expect(await on.dropDead("mails", ["m3"], { by: "Ada", reason: "gone" })).toEqual({ letters: 1 });
      expect((await collect(on.deadLetters("mails"))).map(({ id }) => id)).toEqual(["m4"]);
      const records = await collect(on.deadRecords("mails"));
      expect(records.map(({ id, fate, by }) => [id, fate, by])).toEqual([
        ["m1", "retried", "Ada"],
        ["m2", "edited", "Ada"],
        ["m3", "dropped", "Ada"],
      ]);
      const behind = { id: "m1", turn: 1 };
      expect((await collect(on.deadRecords("mails", { behind, limit: 1 }))).map(({ id }) => id)).toEqual([
        "m2",
      ]);
      expect(await collect(on.list())).toContainEqual({
        name: "mails",
        ready: 2,
        inFlight: 0,
        delayed: 0,
        dead: 1,
      });
      await expect(on.retryDead("mails", "m3")).rejects.toMatchObject({
        code: "ERR_QUEUE_DEAD_LETTER_NOT_FOUND",
      });
    });

    it("refuse what is no queue, no place and no limit [Y692]", async () => {
      const refused = [
        () => collect(on.deadLetters("no queue")),
        () => collect(on.deadLetters("mails", { limit: 0 })),
        () => collect(on.deadLetters("mails", { after: 7 as never })),
        () => collect(on.deadRecords("mails", { behind: { id: "m1" } as never })),
        () => collect(on.list({ limit: 0 })),
        () => collect(on.list({ after: 7 as never })),
        () => on.heartbeats("mails", { limit: 0 }),
        () => on.retryDead("../mails", "m1"),
        () => on.dropDead("mails", "m4", {} as never),
      ];
      for (const ask of refused) await expect(ask()).rejects.toBeInstanceOf(OptionError);
    });
  });
});

const warn = (text: string): void => expect.fail(text);

function system(): System {
  const made = new System({ report: false });
  onTestFinished(() => made.stop({ timeoutMs: 0 }));
  return made;
}

test("the operations are there over the socket beside the file, and beside the file when no program has it [Y693]", async () => {
  const file = folderWith()("queues.db");
  const queues = await openQueues(system(), { store: sqlite(file) });
  expect(statSync(`${file}.sock`).mode & 0o777).toBe(0o600);
  const ids = Array.from({ length: 600 }, (_, i) => `m${String(i).padStart(3, "0")}`);
  await deadQueue(queues, "mails", ids);
  const { operations: remote, close } = await reach(file, warn, {});
  const { operations: own } = queues;
  await remote.dropDead("mails", ["m000", "m001"], { by: "Ada", reason: "gone" });
  const asked: readonly ((on: QueueOperations) => Promise<unknown>)[] = [
    (on) => collect(on.list()),
    (on) => collect(on.list({ after: "a", limit: 1 })),
    (on) => on.heartbeats("mails"),
    (on) => collect(on.deadLetters("mails")),
    (on) => collect(on.deadLetters("mails", { after: "m010", limit: 3 })),
    (on) => collect(on.deadRecords("mails")),
  ];
  for (const ask of asked) expect(await ask(remote)).toEqual(JSON.parse(JSON.stringify(await ask(own))));
  expect(await collect(remote.deadLetters("mails"))).toHaveLength(598);
  const code = "ERR_QUEUE_DEAD_LETTER_NOT_FOUND";
  await expect(remote.retryDead("mails", "m000")).rejects.toMatchObject({ remote: { code } });
  await close();
  await queues.close();
  expect(existsSync(`${file}.sock`)).toBe(false);
  const alone = await reach(file, warn, {});
  expect((await collect(alone.operations.list())).map(({ name, dead: count }) => [name, count])).toEqual([
    ["mails", 598],
  ]);
  expect(await alone.operations.retryDead("mails", { limit: 5 })).toMatchObject({ letters: 5 });
  await alone.close();
});

test("queues and a host of flows on one file share its socket; queues without one have none [Y693]", async () => {
  const at = folderWith();
  const file = at("both.db");
  const store = sqlite(file);
  const on = system();
  const greet = defineFlow("greet", async (flow) => flow.receive<string>("name"));
  const flows = await on.start(flowHost({ store, flows: [greet] }));
  const queues = await openQueues(on, { store });
  await queues.queue("mails").publish(1);
  const asked = await reach(file, warn, {});
  expect((await collect(asked.operations.list())).map(({ name }) => name)).toEqual(["mails"]);
  await asked.close();
  const flow = await reachFlows(file, warn);
  expect((await flow.operations.list()).flows).toEqual([]);
  await flow.close();
  await queues.close();
  await flows.stop();
  const none = await openQueues(on, { store: sqlite(at("none.db")), socket: false });
  expect(existsSync(at("none.db.sock"))).toBe(false);
  await none.close();
  await expect(openQueues(on, { store, socket: 7 as never })).rejects.toBeInstanceOf(OptionError);
});
