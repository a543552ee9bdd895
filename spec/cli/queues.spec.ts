// `signalbox queues`: what is printed for people and for programs, and the exit codes.

import { System } from "signalbox";
import { flowHost } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { expect, onTestFinished, test } from "vitest";
import { queues as command } from "../../lib/cli/queues/queues.js";
import { reach } from "../../lib/cli/queues/reach.js";
import { openQueues } from "../../lib/pipeline/queues/queues.js";
import { dead } from "../../lib/pipeline/queues/status.js";
import { until } from "../pipeline/queues/waits.js";
import { folderWith } from "./pipelines/support.js";
import { runCommand as runFlows } from "./support/command.js";
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

test("list --limit says how to go on, and --after does", async () => {
  const file = await store();
  expect((await run(file, "list", "--limit", "1")).printed).toBe(
    "QUEUE  READY\njobs       1\nmore: --after jobs",
  );
  expect(JSON.parse((await run(file, "list", "--limit", "1", "--json")).printed)).toMatchObject({
    queues: [{ name: "jobs" }],
    next: "jobs",
  });
  const rest = await run(file, "list", "--limit", "1", "--after", "jobs");
  expect(rest.printed).toBe("QUEUE  READY  DEAD\nmails      0     3");
});

test("a wrong value of an option says which command shows its arguments", async () => {
  expect(await run("queues.db", "list", "--limit", "0")).toMatchObject({
    code: 2,
    complaints:
      'signalbox: queues list: --limit must be a whole number, 1 or more; got "0"\nsignalbox queues list --help shows its arguments',
  });
});

test("a program without queues, or without flows, says what it answers about", async () => {
  const at = folderWith();
  const system = new System({ report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  await system.start(flowHost({ store: sqlite(at("flows.db")), flows: [] }));
  const queues = await openQueues(system, { store: sqlite(at("queues.db")) });
  onTestFinished(() => queues.close());
  expect(await run(at("flows.db"), "list")).toMatchObject({
    code: 2,
    complaints:
      'signalbox: there is no operation "queues.list": this program answers only about flows, system here',
  });
  expect(await runFlows("list", "--store", at("queues.db"))).toMatchObject({
    code: 2,
    complaints:
      'signalbox: there is no operation "list": this program answers only about queues, system here',
  });
});
