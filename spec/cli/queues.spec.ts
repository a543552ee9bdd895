// `signalbox queues`: what is printed for people and for programs, and the exit codes.

import { System } from "signalbox";
import { sqlite } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import { queues as command } from "../../lib/cli/queues/queues.js";
import { reach } from "../../lib/cli/queues/reach.js";
import { openQueues } from "../../lib/pipeline/queues/queues.js";
import { dead } from "../../lib/pipeline/queues/status.js";
import { until } from "../pipeline/queues/waits.js";
import { folderWith } from "./pipelines/support.js";
import { type Ran, ran } from "./support/ran.js";

const run = (file: string, ...args: readonly string[]): Promise<Ran> =>
  ran(command, [...args, "--store", file], (complain) => ({
    env: { USER: "ada" },
    open: (store, payloads) => reach(store, complain, payloads),
  }));

/** A file with a queue of dead letters, which no program has open. */
async function store(): Promise<string> {
  const file = folderWith()("queues.db");
  const system = new System({ report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  const queues = await openQueues(system, { store: sqlite(file) });
  const mails = queues.queue<object>("mails");
  await mails.publishMany(["m1", "m2", "m3"].map((id) => ({ id, value: { to: id }, key: "k" })));
  const subscription = await mails.subscribe({}, () => dead("no \u001b[31mmailbox"));
  await until(async () => (await mails.counts()).dead === 3, "the dead letters");
  await subscription.stop();
  await queues.queue("jobs").publish(1);
  await queues.close();
  return file;
}

test("lists queues and dead letters; retries, edits and drops them, and says who did it [Y694]", async () => {
  const file = await store();
  expect(await run(file, "list")).toEqual({
    code: 0,
    printed: "QUEUE  READY  DEAD\njobs       1\nmails      0     3",
    complaints: "",
  });
  const letters = await run(file, "dead", "mails", "--limit", "2");
  expect(letters.printed.replace(/\d{4}-\S+/g, "WHEN").split("\n")).toEqual([
    "m1  1 attempts  WHEN  key k",
    '    {"to":"m1"}',
    "    1. no  [31mmailbox",
    "m2  1 attempts  WHEN  key k",
    '    {"to":"m2"}',
    "    1. no  [31mmailbox",
  ]);
  expect((await run(file, "retry", "mails", "m1", "--reason", "mended")).printed).toBe(
    "1 dead letters go on",
  );
  expect((await run(file, "edit", "mails", "m2", '{"to":"Ben"}')).printed).toBe(
    'm2: goes on with {"to":"Ben"}',
  );
  expect(await run(file, "drop", "mails", "--all")).toMatchObject({
    code: 2,
    complaints: expect.stringMatching(/--reason is missing/),
  });
  expect((await run(file, "drop", "mails", "--all", "--reason", "old")).printed).toBe(
    "1 dead letters are dropped",
  );
  const { records } = JSON.parse((await run(file, "dead", "mails", "--records", "--json")).printed);
  expect(records.map(({ id, fate, by }: Record<string, string>) => [id, fate, by])).toEqual([
    ["m1", "retried", "ada"],
    ["m2", "edited", "ada"],
    ["m3", "dropped", "ada"],
  ]);
  expect(await run(file, "heartbeats", "mails")).toMatchObject({ code: 0, printed: "" });
});

test("ends with 1 when the answer is no, and with 2 when there is none [Y694]", async () => {
  const file = await store();
  const gone = await run(file, "retry", "mails", "m9", "--json");
  expect({ code: gone.code, error: JSON.parse(gone.printed).error.code }).toEqual({
    code: 1,
    error: "ERR_QUEUE_DEAD_LETTER_NOT_FOUND",
  });
  expect(await run(file, "retry", "mails")).toMatchObject({
    code: 2,
    complaints: expect.stringMatching(/name messages, or choose them with --error, --before or --all/),
  });
  expect(await run(`${file}.none`, "list")).toMatchObject({
    code: 2,
    complaints: expect.stringMatching(/there is no file/),
  });
});
