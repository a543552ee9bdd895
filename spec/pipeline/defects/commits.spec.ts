// Hosts of pipelines that die at a commit: what is in one commit, and what the next host makes of it.

import { definePipeline, many, queue, route } from "signalbox/pipeline";
import { describe, expect, test } from "vitest";
import { executions, messages } from "../../../lib/pipeline/ledger/tables.js";
import { audited } from "../simulated/audit.js";
import { expectedOf, type Item, Job } from "../simulated/job.js";
import { type Death, Lives } from "./lives.js";

const QUICK = { attempts: 3, backoff: { minMs: 1, maxMs: 1 } };

const GIVEN: readonly Item[] = [{ name: "a", kind: "flaky" }];
const READ: readonly Item[] = [
  { name: "a", kind: "part" },
  { name: "b", kind: "laps", laps: 0 },
  { name: "c", kind: "bad" },
  { name: "d", kind: "sour" },
];

/** Runs the job of the simulations; its host dies at one commit. Returns how many commits there were. */
async function dying(at: number, death: Death): Promise<number> {
  const job = new Job();
  const lives = new Lives(job.pipeline);
  const work = async (host: Parameters<Parameters<Lives["live"]>[1]>[0]): Promise<void> => {
    const run = await host.start(job.pipeline, {
      ...{ id: "one", input: READ, messages: { to: job.numbers, values: GIVEN } },
    });
    await run.completed();
  };
  const isDone = await lives.live((_set, n) => (n === at ? death : undefined), work);
  const { commits } = lives;
  if (!isDone) {
    const there = await lives.read((store) => store.scan(executions, {}));
    if (there.length > 0) await lives.read((store) => audited(store, "one"));
    expect(await lives.live(() => undefined, work)).toBe(true);
  }
  const row = await lives.read((store) => audited(store, "one"));
  const { settled, dead, names } = expectedOf([...GIVEN, ...READ]);
  const place = { at, death };
  expect({ ...place, names: job.names("one"), wrong: job.wrong }).toEqual({ ...place, names, wrong: [] });
  expect(row).toMatchObject({ status: "completed", pending: 0, dead, inputs: 5 });
  expect(row.done).toBe(settled + (job.written.get("one")?.size ?? 0));
  return commits;
}

describe("a host that dies at a commit", () => {
  test.each<Exclude<Death, undefined>>(["before", "after"])(
    "%s it: each child, batch and output is there once, and the counters are those of the rows (bugs 4, 10, 18) (weakness 1)",
    async (death) => {
      const commits = await dying(0, undefined);
      for (let at = 1; at <= commits; at++) await dying(at, death);
      expect(commits).toBeGreaterThan(10);
    },
  );
});

test("a batch whose commit is lost comes back with all of its inputs (bug 10) (weakness 2)", async () => {
  const numbers = queue<number>("numbers");
  const sums = queue<number>("sums");
  const batches: (readonly number[])[] = [];
  const totals: number[] = [];
  let isMade = false;
  const add = route("add", { from: numbers, retry: QUICK })
    .batch("sum", { size: 3 }, (all) => {
      isMade = true;
      batches.push(all);
      return [all.reduce((a, b) => a + b, 0)];
    })
    .to(sums);
  const print = route("print", { from: sums }).via("print", (total) => void totals.push(total));
  const pipeline = definePipeline("sums", { routes: [add, print] });
  const lives = new Lives(pipeline);
  const start = { id: "one", messages: { to: numbers, values: [1, 2, 3] } };
  // The commit behind the body is that of the batch.
  const died = lives.live(
    () => (isMade ? "before" : undefined),
    async (host) => (await host.start(pipeline, start)).completed(),
  );
  expect(await died).toBe(false);
  expect(await lives.read((store) => store.count(messages, {}))).toBe(3);
  let summary: unknown;
  const ended = lives.live(
    () => undefined,
    async (host) => {
      summary = await host.get("one").completed();
    },
  );
  expect(await ended).toBe(true);
  expect(summary).toMatchObject({ inputs: 3, done: 4, dead: 0 });
  expect([batches, totals]).toEqual([
    [
      [1, 2, 3],
      [1, 2, 3],
    ],
    [6],
  ]);
});

test("children whose parent's settlement got no answer are there once, and the parent is not called again (bug 4) (weakness 3)", async () => {
  const lines = queue<string>("lines");
  const words = queue<string>("words");
  const calls: string[] = [];
  const seen: string[] = [];
  const split = route("split", { from: lines })
    .via("words", (line) => {
      calls.push(line);
      return many(line.split(" "));
    })
    .to(words);
  const print = route("print", { from: words }).via("print", (word) => void seen.push(word));
  const pipeline = definePipeline("words", { routes: [split, print] });
  const lives = new Lives(pipeline);
  const start = { id: "one", messages: { to: lines, values: ["a b"] } };
  const died = lives.live(
    () => (calls.length > 0 ? "after" : undefined),
    async (host) => (await host.start(pipeline, start)).completed(),
  );
  expect(await died).toBe(false);
  const rows = await lives.read((store) => store.scan(messages, {}));
  expect(rows.map((row) => row.queue)).toEqual(["words", "words"]);
  let summary: unknown;
  await lives.live(
    () => undefined,
    async (host) => {
      summary = await host.get("one").completed();
    },
  );
  expect(summary).toMatchObject({ inputs: 1, done: 3, pending: 0 });
  expect([calls, seen]).toEqual([["a b"], ["a", "b"]]);
});

test("an end that was committed and never told is announced by the next host (bug 20)", async () => {
  const numbers = queue<number>("numbers");
  const read = route("read", { from: numbers }).via("read", () => undefined);
  const pipeline = definePipeline("one", { routes: [read] });
  const lives = new Lives(pipeline);
  const died = lives.live(
    ({ writes }) => (writes.at(-1)?.type === "when" ? "after" : undefined),
    async (host) =>
      (await host.start(pipeline, { id: "one", messages: { to: numbers, values: [1] } })).completed(),
  );
  expect(await died).toBe(false);
  const row = (): Promise<unknown> => lives.read(async (store) => (await store.scan(executions, {}))[0]);
  expect(await row()).toMatchObject({ status: "completed", unannounced: 1 });
  // Nobody asks for the end: the host announces it as it starts.
  await lives.live(
    () => undefined,
    async (host) => host.get("one").status(),
  );
  expect(await row()).toMatchObject({ status: "completed", unannounced: null });
  let ended: unknown;
  await lives.live(
    () => undefined,
    async (host) => {
      ended = await host.get("one").completed({ timeoutMs: 1_000 });
    },
  );
  expect(ended).toMatchObject({ status: "completed", done: 1 });
});
