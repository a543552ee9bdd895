// People give up what cannot go on, or shall not: it is counted apart, and the execution comes to its end.

import { describe, expect, test } from "vitest";
import {
  type AnyPipeline,
  definePipeline,
  feed,
  type PipelineDefinition,
} from "../../../lib/pipeline/definition/pipeline.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { inStore, runCommand } from "../../cli/pipelines/support.js";
import { proving } from "../../support/proof.js";
import {
  begun,
  CHANGES,
  Endless,
  Life,
  lines,
  placeOf,
  places,
  split,
  stranded,
  whole,
  words,
} from "./change-support.js";

const PLACES = places(proving);

const REASON = "the customer has gone";
const HOLD = "hold";
const LONG_MS = 2 ** 30;

/** Messages of one kind are held until somebody gives them up. */
const holding = definePipeline("holding", {
  routes: [
    split,
    route("take", { from: words, concurrency: 4 }).via("take", (word, { signal }) =>
      word === HOLD
        ? new Promise<undefined>((over) => signal.addEventListener("abort", () => over(undefined)))
        : undefined,
    ),
  ],
});

describe.each(PLACES)("$name", (kind) => {
  const isShared = kind.name === "shared memory" || kind.name === "PGlite";

  // Which pipelines other hosts have, a store that several processes share does not say.
  test.each(CHANGES.filter(([what]) => !isShared || !what.startsWith("a pipeline")))(
    "an execution completes after %s, when its stranded parts are given up [Y461]",
    async (_, before, after) => {
      const { life, run } = await stranded(await placeOf(kind), before, after);
      const completed = run.completed();
      const { messages, sources, more } = await run.giveUp({ stranded: true, reason: REASON });
      expect(more).toBe(false);
      expect(messages + sources).toBeGreaterThan(0);
      if (messages === 0) await run.giveUp({ queues: ["words"], reason: REASON });
      const { status, dropped, done, dead, pending } = await completed;
      expect({ status, dropped, done, dead, pending }).toEqual({
        ...{ status: "completed", dropped: 1, done: 2, dead: 0, pending: 0 },
      });
      expect((await life.host.operations.status("x")).stranded).toBeUndefined();
      await life.system.stop();
    },
  );

  test("a message given up in work settles nothing; the others are done and counted once [Y462]", async () => {
    const life = await Life.of(await placeOf(kind), holding);
    const values = [HOLD, "a", "b", HOLD, "c"];
    const run = await life.host.start(holding, { messages: { to: lines, values } });
    await life.until(async () => ((await run.status()).done === 8 ? true : undefined));
    const completed = run.completed();
    const given = { messages: 1, sources: 0, more: false };
    expect(await run.giveUp({ messages: ["10.10.10"], reason: REASON })).toEqual(given);
    expect(await run.giveUp({ messages: ["10.13.10"], reason: REASON })).toEqual(given);
    const { done, dropped, dead } = await completed;
    expect({ done, dropped, dead }).toEqual({ done: 10, dropped: 2, dead: 0 });
    await life.system.stop();
  });

  test("a batch goes on without the messages given up [Y462]", async () => {
    const batches: unknown[][] = [];
    const take = route("take", { from: lines }).batch("all", { size: 3, everyMs: LONG_MS }, (values) => {
      batches.push([...values]);
      return [];
    });
    const source = new Endless("letters", ["a", "b"]);
    const batched = definePipeline("batched", { routes: [take], sources: [feed(source, lines)] });
    const life = await Life.of(await placeOf(kind), batched);
    const run = await life.host.start(batched);
    await life.until(async () => ((await run.status()).inputs === 2 ? true : undefined));
    const completed = run.completed();
    await run.giveUp({ messages: ["10.10"], reason: REASON });
    await run.giveUp({ sources: ["letters"], reason: REASON });
    const { done, dropped, dead } = await completed;
    expect({ done, dropped, dead }).toEqual({ done: 2, dropped: 1, dead: 0 });
    expect(batches.at(-1)).toEqual(["b"]);
    await life.system.stop();
  });

  test("a source that is given up is left, and holds the execution no longer [Y463]", async () => {
    const source = new Endless("numbers");
    const pipeline = definePipeline("fed", {
      routes: [route("take", { from: lines }).via("take", () => undefined)],
      sources: [feed(source, lines)],
    });
    const life = await Life.of(await placeOf(kind), pipeline);
    const run = await life.host.start(pipeline, { id: "x" });
    await life.until(async () => ((await run.status()).done === 1 ? true : undefined));
    const completed = run.completed();
    expect(await run.giveUp({ sources: ["numbers"], reason: REASON })).toEqual({
      ...{ messages: 0, sources: 1, more: false },
    });
    const { done, inputs, dropped } = await completed;
    expect({ done, inputs, dropped }).toEqual({ done: 1, inputs: 1, dropped: undefined });
    expect((await run.inspect()).sources).toEqual([
      { name: "numbers", given: 1, open: false, dropped: REASON },
    ]);
    await life.system.stop();
    expect(source.left).toBe(1);
  });

  test("a message given up records the operator, the time and the reason, and keeps its value for a replay [Y464]", async () => {
    const store = await placeOf(kind);
    await begun(store, whole);
    const life = await Life.of(store, holding);
    const run = life.host.get("x");
    const before = await run.lineage("10.10.10");
    expect(before.message).toMatchObject({ status: "ready", queue: "words" });
    await run.giveUp({ messages: ["10.10.10"], by: "Ada", reason: REASON });
    const { message } = await run.lineage("10.10.10");
    expect(message).toMatchObject({ status: "dropped", route: "take-words", children: 0, calls: [] });
    expect(message.changes).toEqual([
      { what: "given up", queue: "words", by: "Ada", reason: REASON, at: expect.any(Number) },
    ]);
    await life.system.stop();
    const again = await Life.of(store, whole);
    const { messages } = await again.host.operations.replay("x", { messages: ["10.10.10"], id: "y" });
    expect(messages).toBe(1);
    await again.until(async () => {
      const { queues } = await again.host.operations.inspect("y");
      return queues.find(({ queue, ready }) => queue === "words" && ready === 1);
    });
    await again.system.stop();
  });

  test("a large remainder goes in portions, each of them durable [Y465]", async () => {
    const store = await placeOf(kind);
    const life = await Life.of(store, whole);
    const values = Array.from({ length: 30 }, (_, i) => `${i}`);
    const run = await life.host.start(whole as PipelineDefinition<unknown>, {
      id: "x",
      messages: { to: words, values },
    });
    const portions = [];
    for (let more = true; more; ) {
      const some = await run.giveUp({ all: true, reason: REASON, limit: 12 });
      portions.push(some.messages);
      more = some.more;
    }
    expect(portions).toEqual([12, 12, 6]);
    expect(await run.completed()).toMatchObject({ done: 30, dropped: 30 });
    expect(await run.giveUp({ all: true, reason: REASON })).toEqual({ messages: 0, sources: 0, more: false });
    await life.system.stop();
  });
});

const refusals: readonly [string, object, string][] = [
  ["no reason", { all: true }, "ERR_OPTION"],
  ["nothing that is meant", { reason: REASON }, "ERR_OPTION"],
  ["two things at once", { reason: REASON, all: true, stranded: true }, "ERR_OPTION"],
  ["an option that there is not", { reason: REASON, all: true, force: true }, "ERR_OPTION"],
  ["a limit of 0", { reason: REASON, all: true, limit: 0 }, "ERR_OPTION"],
  ["a message that is in no queue", { reason: REASON, messages: ["10.10"] }, "ERR_PIPELINE_CHANGE"],
  ["a source that is not open", { reason: REASON, sources: ["numbers"] }, "ERR_PIPELINE_CHANGE"],
];
test.each(refusals)("%s is refused, and nothing is changed", async (_, options, code) => {
  const store = await placeOf(PLACES[0] as (typeof PLACES)[number]);
  await begun(store, whole);
  const life = await Life.of(store, whole);
  const before = await life.host.operations.status("x");
  await expect(life.host.get("x").giveUp(options as never)).rejects.toMatchObject({ code });
  expect(await life.host.operations.status("x")).toEqual(before);
});

test("the command gives messages up, and prints them [Y466]", async () => {
  const store = await placeOf(PLACES[0] as (typeof PLACES)[number]);
  const renamed = CHANGES[0]?.[2] as AnyPipeline;
  const { life } = await stranded(store, whole, renamed);
  await life.system.stop();
  const host = await inStore(store);
  const run = (...args: string[]) => runCommand([...args, "--store", "jobs.db"], host);
  expect(await run("give-up", "x", "--stranded")).toMatchObject({ code: 2 });
  expect(await run("give-up", "x", "--stranded", "--reason", REASON)).toMatchObject({
    ...{ code: 0, printed: "x: gave up 1 messages and 0 sources" },
  });
  expect((await run("list")).printed).toMatch(/DROPPED/);
  expect((await run("get", "x")).printed).toMatch(/dropped +1/);
  expect((await run("lineage", "x", "10.10.10")).printed).toContain(REASON);
  expect(await run("give-up", "x", "--all", "--reason", REASON, "--json")).toMatchObject({
    ...{ code: 1, printed: JSON.stringify({ id: "x", messages: 0, sources: 0 }, null, 2) },
  });
});
