// What people do with dead letters of executions, in place: retry, edit and drop.
// On PostgreSQL in `npm run prove`: see spec/support/proof.js.

import { memory, type StoreSource } from "signalbox/store";
import { describe, expect, test } from "vitest";
import { many } from "../../../lib/pipeline/definition/adapter.js";
import { definePipeline, type PipelineDefinition } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { openPipelineOperations } from "../../../lib/pipeline/open-operations.js";
import { all, hostOf, lines, newStore, system, words } from "./support.js";

/** Lines into words, words into shouts. Words that `bad` names are refused, and each attempt is noted. */
function job(attempts = 1) {
  const bad = new Set<string>();
  const seen: string[] = [];
  const shouts = queue<string>("shouts");
  const retry = { attempts, backoff: { minMs: 1, maxMs: 1 } };
  const split = route("split", { from: lines })
    .via("split", (line) => many(line.split(" ")))
    .to(words);
  const check = route("check", { from: words, retry })
    .via("check", (word, { attempt }) => {
      if (bad.has(word)) throw new Error(`${word} is bad in attempt ${attempt}`);
      return word.toUpperCase();
    })
    .to(shouts);
  const shout = route("shout", { from: shouts }).via("shout", (word) => {
    seen.push(word);
    return undefined;
  });
  return { bad, seen, pipeline: definePipeline("job", { routes: [split, check, shout] }) };
}

async function ran(pipeline: PipelineDefinition, values: readonly string[], store: StoreSource = newStore()) {
  const on = system();
  const host = await hostOf(on, store, pipeline);
  const run = await host.start(pipeline, { id: "first", messages: { to: lines, values } });
  await run.completed();
  return { on, store, host, run };
}

describe.each([
  ["a store of one process", newStore],
  ["a store that several share", () => memory({ shared: true })],
])("a dead letter of an execution in %s", (_name, newPlace) => {
  test("that is retried goes on where it died, with all of its attempts, and the execution completes once more [Y449]", async () => {
    const { bad, seen, pipeline } = job(2);
    bad.add("b");
    const { run } = await ran(pipeline, ["a b"], newPlace());
    expect(await run.status()).toMatchObject({ status: "completed", done: 4, dead: 1 });
    const [letter] = await all(run.deadLetters());
    bad.clear();
    expect(await run.retryDead(letter?.id as string, { by: "ada", reason: "mended" })).toEqual({
      letters: 1,
    });
    expect(await run.completed()).toMatchObject({
      status: "completed",
      done: 5,
      dead: 0,
      pending: 0,
      inputs: 1,
    });
    expect(seen).toEqual(["A", "B"]);
    // It is the same message, below the same line, with the errors that it had.
    const { message, chain, children } = await run.lineage("10.10.11");
    expect(message).toMatchObject({ id: letter?.id, status: "completed", attempt: 1, children: 1 });
    expect(message.errors).toHaveLength(2);
    expect([chain.map(({ id }) => id), children.map(({ id }) => id)]).toEqual([["10.10"], ["10.10.11.10"]]);
    const [record] = await all(run.deadRecords());
    expect(record).toMatchObject({
      id: "10.10.11",
      turn: 1,
      fate: "retried",
      by: "ada",
      reason: "mended",
      value: "b",
    });
  });

  test("that dies again is another turn of it; it is not retried twice [Y449]", async () => {
    const { bad, pipeline } = job();
    bad.add("b");
    const { run } = await ran(pipeline, ["a b"], newPlace());
    for (const turn of [1, 2, 3]) {
      await run.retryDead(["10.10.11"]);
      expect(await run.completed()).toMatchObject({ done: 4, dead: 1, pending: 0 });
      const records = await all(run.deadRecords({ message: "10.10.11" }));
      expect(records.map((record) => record.turn)).toEqual(Array.from({ length: turn }, (_, i) => i + 1));
    }
    const [letter] = await all(run.deadLetters());
    expect(letter?.errors).toHaveLength(4);
  });

  test("goes on with another value after an edit, which is checked as an input is; the record keeps the old one [Y450]", async () => {
    const { bad, seen, pipeline } = job();
    bad.add("b");
    const { run } = await ran(pipeline, ["a b"], newPlace());
    const hostile = { deep: [() => undefined] };
    await expect(run.editDead("10.10.11", hostile)).rejects.toMatchObject({
      ...{ code: "ERR_FLOW_UNSTORABLE", path: "message.deep[0]" },
    });
    await expect(run.editDead("10.10.11", "x".repeat(2 ** 21))).rejects.toMatchObject({
      code: "ERR_PIPELINE_MESSAGE_TOO_LARGE",
    });
    expect(await run.status()).toMatchObject({ status: "completed", dead: 1 });
    await run.editDead("10.10.11", "better", { by: "ada" });
    expect(await run.completed()).toMatchObject({ done: 5, dead: 0 });
    expect(seen).toEqual(["A", "BETTER"]);
    expect(await all(run.deadRecords())).toMatchObject([{ fate: "edited", value: "b", by: "ada" }]);
  });

  test("that is dropped is given up for good, with a reason, and the execution says how many were [Y451]", async () => {
    const { bad, pipeline } = job();
    for (const word of ["b", "c"]) bad.add(word);
    const { host, run } = await ran(pipeline, ["a b c"], newPlace());
    await expect(run.dropDead("10.10.11", {} as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
    expect(await run.dropDead({ error: "b is bad" }, { reason: "spam" })).toEqual({ letters: 1 });
    expect(await run.status()).toMatchObject({ status: "completed", done: 5, dead: 1, dropped: 1 });
    expect(await all(run.deadLetters())).toMatchObject([{ value: "c" }]);
    const { message } = await run.lineage("10.10.11");
    expect(message).toMatchObject({
      status: "dead",
      fate: "dropped",
      errors: [expect.stringMatching("b is bad")],
    });
    await expect(run.retryDead("10.10.11")).rejects.toThrow(/no dead letter "10\.10\.11": it was dropped/);
    expect(await host.operations.status("first")).toMatchObject({ dropped: 1 });
  });

  test("is chosen by route, error and time, with a bound, and the answer says where to go on [Y452]", async () => {
    const { bad, pipeline } = job();
    const values = Array.from({ length: 30 }, (_, i) => `w${i}`);
    for (const one of values) bad.add(one);
    const { run } = await ran(pipeline, values, newPlace());
    expect(await run.retryDead({ route: "split" })).toEqual({ letters: 0 });
    const first = await run.dropDead({ route: "check", limit: 20 }, { reason: "a test" });
    expect(first).toMatchObject({ letters: 20, next: expect.any(String) });
    bad.clear();
    const rest = await run.retryDead({ cursor: first.next as string, error: "bad" });
    expect(rest).toEqual({ letters: 10 });
    expect(await run.completed()).toMatchObject({ dead: 0, dropped: 20, done: 30 + 30 + 10 });
    for (const wrong of [{ limit: 0 }, { limit: 10_001 }, { rute: "check" }, [], ["x"], "x"])
      await expect(run.retryDead(wrong as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
  });

  test("is put back once by callers that ask at the same time, beside the host too, and is done once for each [Y453]", async () => {
    const { bad, seen, pipeline } = job();
    const values = Array.from({ length: 50 }, (_, i) => `w${i}`);
    for (const one of values) bad.add(one);
    const { on, store, run } = await ran(pipeline, values, newPlace());
    bad.clear();
    const beside = await openPipelineOperations(on, store, { pipelines: [pipeline] });
    const asked = await Promise.all([
      run.retryDead({}),
      beside.retryDead("first", {}),
      beside.dropDead("first", {}, { reason: "spam" }),
    ]);
    expect(asked.reduce((sum, { letters }) => sum + letters, 0)).toBe(values.length);
    const records = await all(beside.deadRecords("first"));
    expect(records.map(({ turn }) => turn)).toEqual(values.map(() => 1));
    const back = records
      .filter(({ fate }) => fate === "retried")
      .map(({ value }) => String(value).toUpperCase());
    const { dropped = 0 } = await run.completed();
    expect(dropped).toBe(values.length - back.length);
    expect([...seen].sort()).toEqual(back.sort());
    await beside.close();
  });

  test("goes on while its execution runs, and that completes behind it", async () => {
    const { bad, seen, pipeline } = job();
    bad.add("b");
    const on = system();
    const host = await hostOf(on, newPlace(), pipeline);
    const run = await host.start(pipeline, { id: "first", messages: { to: lines, values: ["b"] } });
    await run.completed();
    await run.retryDead({});
    await run.pause();
    await run.resume();
    await run.completed();
    bad.clear();
    await run.retryDead({});
    await run.pause();
    expect(await all(run.deadLetters())).toEqual([]);
    await run.resume();
    expect(await run.completed()).toMatchObject({ done: 3, dead: 0 });
    expect(seen).toEqual(["B"]);
  });

  test("of an execution that was cancelled cannot go on in it, and says so; a replay takes it [Y454]", async () => {
    const numbers = queue<number>("numbers");
    const half = route("half", { from: numbers, concurrency: 2, retry: { attempts: 1 } }).via(
      "half",
      (n, { signal }) => {
        if (n === 1) throw new Error("odd");
        return new Promise<undefined>((resolve) =>
          signal.addEventListener("abort", () => resolve(undefined)),
        );
      },
    );
    const pipeline = definePipeline("halves", { routes: [half] });
    const host = await hostOf(system(), newPlace(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [1, 2] } });
    while ((await run.status()).dead === 0);
    await run.cancel();
    await expect(run.retryDead({})).rejects.toMatchObject({ code: "ERR_PIPELINE_EXECUTION_OVER" });
    await expect(run.editDead("10.10", 2)).rejects.toThrow(/was cancelled: its dead letters cannot go on/);
    expect(await run.status()).toMatchObject({ status: "cancelled", dead: 1 });
    await (await run.replay({ dead: true, id: "again" })).completed();
    expect(await run.status()).toMatchObject({ status: "cancelled", dead: 0, replayed: 1 });
  });
});
