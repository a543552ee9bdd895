// People move messages to another route, where the route of their queue is gone or cannot do them.

import { describe, expect, test } from "vitest";
import { definePipeline, type PipelineDefinition } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { inStore, runCommand } from "../../cli/pipelines/support.js";
import { proving } from "../../support/proof.js";
import { begun, Life, lines, placeOf, places, split, stranded, whole, words } from "./change-support.js";

const PLACES = places(proving);

const terms = queue<string>("terms");

/** The pipeline whose queue of words was renamed. It notes what it takes. */
function renamed(more: object = {}): { readonly pipeline: PipelineDefinition; readonly taken: string[] } {
  const taken: string[] = [];
  const take = route("take", { from: terms }).via("take", (term) => {
    taken.push(term);
  });
  return { taken, pipeline: definePipeline("text", { routes: [take], ...more }) };
}

/** What both queues hold is taken; the first one never gives anything back. */
function both(): { readonly pipeline: PipelineDefinition; readonly taken: string[] } {
  const taken: string[] = [];
  const take = route("take", { from: terms, retry: { attempts: 1 } }).via("take", (term) => {
    taken.push(term);
    if (term === "bad") throw new Error("bad");
  });
  const held = route("hold", { from: words, concurrency: 8 }).via(
    "hold",
    (_, { signal }) =>
      new Promise<undefined>((over) => signal.addEventListener("abort", () => over(undefined))),
  );
  return { taken, pipeline: definePipeline("text", { routes: [split, held, take] }) };
}

describe.each(PLACES)("$name", (kind) => {
  test("messages of a queue that was renamed go on at a route that is there [Y467]", async () => {
    const { pipeline, taken } = renamed();
    const { life, run } = await stranded(await placeOf(kind), whole, pipeline);
    const completed = run.completed();
    expect(await run.move({ to: "take" })).toEqual({ messages: 1, more: false });
    const { done, dead, dropped, stranded: missing } = await completed;
    expect({ done, dead, dropped, missing, taken }).toEqual({ done: 2, dead: 0, taken: ["a"] });
    await life.system.stop();
  });

  test("a message that is moved in work settles nothing where it was, and is done once where it is [Y468]", async () => {
    const { pipeline, taken } = both();
    const life = await Life.of(await placeOf(kind), pipeline);
    const values = ["a", "b", "bad", "c"];
    const run = await life.host.start(pipeline, { id: "x", messages: { to: lines, values } });
    await life.until(async () => ((await run.status()).done === 4 ? true : undefined));
    const completed = run.completed();
    expect(await run.move({ to: "take", messages: ["10.11.10"] })).toEqual({ messages: 1, more: false });
    expect(await run.move({ to: "take", queues: ["words"] })).toEqual({ messages: 3, more: false });
    const { done, dead, dropped } = await completed;
    expect({ done, dead, dropped }).toEqual({ done: 8, dead: 1, dropped: undefined });
    expect(taken.toSorted()).toEqual(values);
    await life.system.stop();
  });

  test("lineage says from where a message was moved, by whom and why, also when it is done or dead [Y469]", async () => {
    const { pipeline } = both();
    const life = await Life.of(await placeOf(kind), pipeline);
    const run = await life.host.start(pipeline, { id: "x", messages: { to: lines, values: ["a", "bad"] } });
    await life.until(async () => ((await run.status()).done === 2 ? true : undefined));
    await run.move({ to: "take", queues: ["words"], by: "Ada", reason: "the queue has a new name" });
    await run.completed();
    const change = { what: "moved", queue: "words", by: "Ada", reason: "the queue has a new name" };
    for (const [id, status] of [
      ["10.10.10", "completed"],
      ["10.11.10", "dead"],
    ] as const)
      expect((await run.lineage(id)).message).toMatchObject({ status, route: "take", changes: [change] });
    await life.system.stop();
  });

  test("a large queue is moved in portions, each of them durable [Y470]", async () => {
    const { pipeline, taken } = renamed();
    const store = await placeOf(kind);
    const old = await Life.of(store, whole);
    const values = Array.from({ length: 30 }, (_, i) => `${i + 10}`);
    await old.host.start(whole as PipelineDefinition<unknown>, { id: "x", messages: { to: words, values } });
    await old.system.stop();
    const life = await Life.of(store, pipeline);
    const run = life.host.get("x");
    const portions = [];
    for (let more = true; more; ) {
      const some = await run.move({ to: "take", limit: 12 });
      portions.push(some.messages);
      more = some.more;
    }
    expect(portions).toEqual([12, 12, 6]);
    expect(await run.completed()).toMatchObject({ done: 30 });
    expect(taken.toSorted()).toEqual(values);
    await life.system.stop();
  });
});

const refusals: readonly [string, object, string][] = [
  ["a route that there is not", { to: "takes" }, "ERR_PIPELINE_CHANGE"],
  ["a message that is in no queue", { to: "take", messages: ["10.10"] }, "ERR_PIPELINE_CHANGE"],
  ["the queue of the route itself", { to: "take", queues: ["terms"] }, "ERR_PIPELINE_CHANGE"],
  ["messages and queues at once", { to: "take", messages: ["10.10"], queues: ["words"] }, "ERR_OPTION"],
  ["no route", {}, "ERR_OPTION"],
];
test.each(refusals)("%s is refused, and nothing is moved [Y467]", async (_, options, code) => {
  const store = await placeOf(PLACES[0] as (typeof PLACES)[number]);
  const { life, run } = await stranded(store, whole, renamed().pipeline);
  const before = await run.inspect();
  await expect(run.move(options as never)).rejects.toMatchObject({ code });
  expect(await run.inspect()).toEqual(before);
  await life.system.stop();
});

test("a message that the new definition finds too large is not moved [Y467]", async () => {
  const store = await placeOf(PLACES[0] as (typeof PLACES)[number]);
  const { life, run } = await stranded(store, whole, renamed({ maxMessageBytes: 2 }).pipeline);
  await expect(run.move({ to: "take" })).rejects.toMatchObject({ code: "ERR_PIPELINE_MESSAGE_TOO_LARGE" });
  await life.system.stop();
});

test("the command moves by the code or the host that it reaches [Y470]", async () => {
  const store = await placeOf(PLACES[0] as (typeof PLACES)[number]);
  await begun(store, whole);
  const { pipeline: code } = renamed();
  const host = { ...(await inStore(store)), load: async () => ({ code }) };
  const run = (...args: string[]) => runCommand([...args, "--store", "jobs.db", "--code", "./new.js"], host);
  expect(await run("move", "x")).toMatchObject({ code: 2 });
  expect(await run("move", "x", "--to", "takes")).toMatchObject({ code: 1 });
  expect(await run("move", "x", "--to", "take")).toMatchObject({
    ...{ code: 0, printed: "x: moved 1 messages to take" },
  });
  expect((await run("get", "x")).printed).toMatch(/terms +1/);
  expect(await run("move", "x", "--to", "take", "--json")).toMatchObject({
    ...{ code: 1, printed: JSON.stringify({ id: "x", messages: 0 }, null, 2) },
  });
});
