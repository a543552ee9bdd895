// What can be asked of the executions of a store: beside a host, through its handle, and without one.
// On PostgreSQL in `npm run prove`: see spec/support/proof.js.

import { describe, expect, test } from "vitest";
import { many } from "../../../lib/pipeline/definition/adapter.js";
import { childId } from "../../../lib/pipeline/definition/message-id.js";
import { definePipeline } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { openPipelineOperations } from "../../../lib/pipeline/open-operations.js";
import type { PipelineOperations } from "../../../lib/pipeline/operations/operations.js";
import { all, hostOf, lines, newStore, system, wordPipeline } from "./support.js";

const TEXTS = ["a b flaky", "", "bad c"];

/** An execution of words that has ended. */
async function ended(id = "one") {
  const on = system();
  const store = newStore();
  const pipeline = wordPipeline();
  const host = await hostOf(on, store, pipeline);
  const run = await host.start(pipeline, { id, messages: { to: lines, values: TEXTS } });
  expect(await run.completed()).toMatchObject({ inputs: 3, done: 8, dead: 2 });
  return { on, store, pipeline, host, run, operations: host.operations };
}

describe("a list of executions", () => {
  test("is filtered, ordered, and read page by page without a gap [Y100]", async () => {
    const on = system();
    const store = newStore();
    const [one, two] = [wordPipeline("one"), wordPipeline("two")];
    const host = await hostOf(on, store, one, two);
    for (let i = 0; i < 7; i++) {
      const messages = { to: lines, values: ["a"] };
      const run = await host.start(i % 2 === 0 ? one : two, { id: `run-${i}`, messages });
      await run.completed();
    }
    await host.get("run-3").cancel();
    const waiting = await host.start(one, { id: "other", messages: { to: lines, values: ["a b"] } });
    await waiting.pause();
    const operations = await openPipelineOperations(on, store);
    const ids = async (options?: Parameters<PipelineOperations["executions"]>[0]) =>
      (await all(operations.executions(options))).map(({ id }) => id);
    const newest = ["other", "run-6", "run-5", "run-4", "run-3", "run-2", "run-1", "run-0"];
    for (const limit of [1, 2, 3, 8, 100]) {
      expect(await ids({ limit })).toEqual(newest);
      expect(await ids({ limit, order: "oldest" })).toEqual([...newest].reverse());
      expect(await ids({ limit, pipeline: "two" })).toEqual(["run-5", "run-3", "run-1"]);
      expect(await ids({ limit, idPrefix: "run-" })).toEqual([...newest.slice(1)].reverse());
      expect(await ids({ limit, status: ["paused", "completed"] })).toEqual(newest);
      expect(await ids({ limit, status: "completed", pipeline: "one" })).toEqual([
        ...["run-6", "run-4", "run-2", "run-0"],
      ]);
    }
    const { created } = await operations.status("run-4");
    expect(await ids({ createdFrom: created + 1_000_000 })).toEqual([]);
    expect(await ids({ createdBelow: created + 1_000_000 })).toEqual(newest);
    await waiting.cancel();
    await operations.close();
  });

  test("names the wrong option", async () => {
    const { operations } = await ended();
    for (const [options, path] of [
      [{ status: "done" }, "status"],
      [{ limit: 0 }, "limit"],
      [{ limit: 1_001 }, "limit"],
      [{ cursor: "id:x" }, "cursor"],
      [{ idPrefix: "a", cursor: "17" }, "cursor"],
      [{ pipelin: "a" }, "pipelin"],
      [{ createdFrom: "yesterday" }, "createdFrom"],
    ] as const)
      await expect(operations.list(options as never)).rejects.toMatchObject({ code: "ERR_OPTION", path });
  });
});

describe("the lineage of a message", () => {
  test("is its ancestors up to the source's message, and its children, in order [Y101]", async () => {
    const { operations, run } = await ended();
    const { message, chain, children } = await run.lineage("10.10");
    expect(message).toMatchObject({
      status: "completed",
      route: "split",
      children: 3,
      attempt: 1,
      errors: [],
    });
    expect(message.calls).toMatchObject([{ adapter: "words", status: "completed", gave: 3 }]);
    expect(chain).toEqual([]);
    expect(children.map(({ id }) => id)).toEqual(["10.10.10", "10.10.11", "10.10.12"]);
    expect(await all(operations.children("one", "10.10"))).toEqual(children);
    const behind = await all(operations.children("one", "10.10", { after: "10.10.10", limit: 1 }));
    expect(behind.map(({ id }) => id)).toEqual(["10.10.11"]);
    const grandchild = await run.lineage("10.10.12");
    expect(grandchild.chain).toEqual([message]);
    expect(grandchild.message).toMatchObject({ status: "completed", attempt: 2 });
    expect(grandchild.message.errors).toMatchObject([expect.stringContaining("not yet")]);
  });

  test("names the messages of its batch [Y102]", async () => {
    const { operations } = await ended();
    const batches = new Map<string, string[]>();
    for await (const { id, batch } of operations.messages("one", { route: "check" }))
      if (batch !== undefined) batches.set(batch, [...(batches.get(batch) ?? []), id]);
    const sizes = [...batches.values()].map((ids) => ids.length);
    expect(sizes.sort()).toEqual([2, 2]);
    for (const [first, ids] of batches) {
      expect(ids).toContain(first);
      for (const id of ids)
        expect((await all(operations.batch("one", id))).map((one) => one.id).sort()).toEqual([...ids].sort());
    }
    expect(await all(operations.batch("one", "10.10"))).toEqual([]);
  });

  test("shows where messages are that are not settled, and knows what never was [Y101]", async () => {
    const on = system();
    const numbers = queue<number>("numbers");
    const again = { attempts: 2, backoff: { minMs: 3_600_000, maxMs: 3_600_000 } };
    const read = route("read", { from: numbers, retry: again, prefetch: 1 }).via("read", () => {
      throw new Error("later");
    });
    const pipeline = definePipeline("late", { routes: [read] });
    const host = await hostOf(on, newStore(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1, 2] } });
    const { operations } = host;
    let delayed = 0;
    while (delayed < 2) {
      const [depth] = (await run.inspect()).queues;
      delayed = depth?.delayed ?? 0;
      expect(depth).toMatchObject({ queue: "numbers", route: "read", ready: 2 - delayed, dead: 0 });
    }
    const { message } = await operations.lineage(run.id, "10.11");
    expect(message).toMatchObject({ status: "delayed", queue: "numbers", attempt: 1 });
    expect(message.errors).toMatchObject([expect.stringContaining("later")]);
    expect((await operations.lineage(run.id, "10.17")).message.status).toBe("forgotten");
    await expect(operations.lineage(run.id, "10")).rejects.toMatchObject({ path: "message" });
    await expect(operations.lineage("nobody", "10.10")).rejects.toMatchObject({
      code: "ERR_PIPELINE_EXECUTION_NOT_FOUND",
    });
    await run.cancel();
  });

  test("has every child once, however many there are and wherever they are [Y101]", async () => {
    const [ends, leaves] = [queue<number>("ends"), queue<number>("leaves")];
    const COUNT = 1_200;
    const fan = route("fan", { from: queue<number>("start") })
      .via("fan", (count) => many(Array.from({ length: count }, (_, i) => i)))
      .to(ends);
    const pass = route("pass", { from: ends, retry: { attempts: 1 } })
      .via("pass", (n) => {
        if (n % 3 === 0) throw new Error("no");
        return n;
      })
      .to(leaves);
    const leaf = route("leaf", { from: leaves }).via("leaf", () => undefined);
    const pipeline = definePipeline("fan", { routes: [fan, pass, leaf], defaults: { concurrency: 30 } });
    const host = await hostOf(system(), newStore(), pipeline);
    const run = await host.start(pipeline, { messages: { to: queue<number>("start"), values: [COUNT] } });
    await run.completed();
    const children = await all(host.operations.children(run.id, "10.10"));
    expect(children.map(({ id }) => id)).toEqual(
      Array.from({ length: COUNT }, (_, i) => childId("10.10", i)),
    );
    expect(children.filter(({ status }) => status === "dead")).toHaveLength(COUNT / 3);
    const grandchildren = await all(host.operations.children(run.id, "10.10.11"));
    expect(grandchildren.map(({ id, route: by }) => [id, by])).toEqual([["10.10.11.10", "leaf"]]);
  });
});

describe("the failures of an execution", () => {
  test("are the messages of which an attempt has failed, with every error [Y103]", async () => {
    const { operations, run } = await ended();
    const failures = await all(run.failures());
    expect(failures.map(({ id, status, attempt }) => [id, status, attempt])).toEqual([
      ["10.10.12", "completed", 2],
      ["10.11", "dead", 2],
      ["10.12.10", "dead", 2],
    ]);
    expect(failures.map(({ errors }) => errors.length)).toEqual([1, 2, 2]);
    const checked = await all(operations.failures("one", { route: "check", after: "10.10.12" }));
    expect(checked.map(({ id }) => id)).toEqual(["10.12.10"]);
    expect(await all(operations.failures("one", { limit: 1 }))).toEqual(failures.slice(0, 1));
  });

  test("leave dead letters with value, errors, route, adapter and time [Y103]", async () => {
    const { operations, run } = await ended();
    const dead = await all(run.deadLetters());
    expect(dead).toMatchObject([
      { id: "10.11", queue: "lines", route: "split", adapter: "words", value: "" },
      { id: "10.12.10", queue: "words", route: "check", adapter: "check", value: "bad", key: "b" },
    ]);
    expect(dead[1]?.errors).toMatchObject([
      expect.stringContaining("bad word in attempt 1"),
      expect.stringContaining("bad word in attempt 2"),
    ]);
    const { created, ended: end } = await operations.status("one");
    for (const { at } of dead) expect(at).toBeGreaterThanOrEqual(created - 1);
    for (const { at } of dead) expect(at).toBeLessThanOrEqual((end as number) + 1);
    expect(await all(operations.deadLetters("one", { route: "check" }))).toEqual(dead.slice(1));
    expect(await all(operations.deadLetters("one", { limit: 1 }))).toEqual(dead.slice(0, 1));
    const [first] = dead;
    const behind = { queue: first?.queue as string, id: first?.id as string };
    expect(await all(operations.deadLetters("one", { behind }))).toEqual(dead.slice(1));
  });
});

test("an execution shows its frozen configuration, queues, and how it ended", async () => {
  const { operations } = await ended();
  const details = await operations.inspect("one");
  expect(details).toMatchObject({ id: "one", pipeline: "words", status: "completed", inputs: 3, dead: 2 });
  expect(details.configuration).toMatchObject({
    routes: [
      { name: "split", from: "lines" },
      { name: "check", from: "words" },
    ],
  });
  expect(details.queues).toEqual([
    { queue: "lines", route: "split", ready: 0, delayed: 0, dead: 1 },
    { queue: "words", route: "check", ready: 0, delayed: 0, dead: 1 },
  ]);
});

test("the outcome of an execution is waited for with a limit, and its course is changed from outside", async () => {
  const on = system();
  const store = newStore();
  const pipeline = wordPipeline();
  const host = await hostOf(on, store, pipeline);
  const { operations } = host;
  const run = await host.start(pipeline, { id: "w", messages: { to: lines, values: ["a"] } });
  await run.completed();
  expect(await operations.outcome("w")).toMatchObject({ status: "completed" });
  const slow = definePipeline("slow", {
    routes: [route("slow", { from: lines }).via("slow", () => new Promise<undefined>(() => undefined))],
  });
  const other = await hostOf(on, store, slow);
  await other.start(slow, { id: "s", messages: { to: lines, values: ["a"] } });
  await expect(operations.outcome("s", { timeoutMs: 1 })).rejects.toMatchObject({
    code: "ERR_PIPELINE_WAIT_TIMEOUT",
    timeoutMs: 1,
  });
  await expect(operations.outcome("s", { signal: AbortSignal.abort("enough") })).rejects.toBe("enough");
  const outside = await openPipelineOperations(on, store);
  const outcome = outside.outcome("s");
  expect([await other.operations.pause("s"), (await outside.status("s")).status]).toEqual([true, "paused"]);
  expect(await outside.cancel("s")).toBe(true);
  expect(await outcome).toMatchObject({ status: "cancelled", pending: 1 });
  expect([await outside.cancel("s"), await outside.pause("s"), await outside.resume("s")]).toEqual([
    ...[false, false, false],
  ]);
  await outside.close();
});

test("a host without a store keeps nothing to ask for, and says so", async () => {
  const host = await hostOf(system(), undefined, wordPipeline());
  await expect(host.operations.list()).rejects.toMatchObject({ code: "ERR_PIPELINE_NO_LINEAGE" });
  await expect(all(host.get("x").deadLetters())).rejects.toMatchObject({ code: "ERR_PIPELINE_NO_LINEAGE" });
});
