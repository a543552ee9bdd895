// Replays: messages of one execution once more, in a new one.
// On PostgreSQL in `npm run prove`: see spec/support/proof.js.

import type { Claim, StoreSource } from "signalbox/store";
import { describe, expect, test } from "vitest";
import { definePipeline, feed, type PipelineDefinition } from "../../../lib/pipeline/definition/pipeline.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { findExecution } from "../../../lib/pipeline/ledger/executions.js";
import { type ExecutionRow, PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { openPipelineOperations } from "../../../lib/pipeline/open-operations.js";
import { fillReplay } from "../../../lib/pipeline/operations/fill-replay.js";
import type { ReplayOptions } from "../../../lib/pipeline/operations/replay-options.js";
import { storeContext } from "../../../lib/store/open-store.js";
import { all, hostOf, lines, newStore, system, words } from "./support.js";

const ONCE = { attempts: 1 };

/** Lines into words; the words that `bad` names are refused. Keeps what it saw. */
function job(options: { bad?: (word: string) => boolean; keep?: boolean; concurrency?: number } = {}) {
  const seen: string[] = [];
  const { bad = () => false, keep = false, concurrency = 1 } = options;
  const split = route("split", { from: lines, retry: ONCE })
    .via("upper", (line) => line.toUpperCase())
    .to(words);
  const check = route("check", { from: words, retry: ONCE, keepValues: keep, concurrency }).via(
    "check",
    (word, ctx) => {
      if (bad(word)) throw new Error(`${word} is bad`);
      seen.push(ctx.key === undefined ? word : `${ctx.key}:${word}`);
      return undefined;
    },
  );
  return { seen, pipeline: definePipeline("job", { routes: [split, check] }) };
}

async function ran(pipeline: PipelineDefinition, values: readonly string[], store: StoreSource = newStore()) {
  const on = system();
  const host = await hostOf(on, store, pipeline);
  const run = await host.start(pipeline, {
    id: "first",
    messages: { to: lines, values, key: (_, i) => (i === 0 ? "k" : undefined) },
  });
  await run.completed();
  return { on, store, host, run };
}

describe("a replay", () => {
  test("of dead letters is a new execution that names the one it replays, which stays as it is but for them [Y104] (bug 22)", async () => {
    let isMended = false;
    const { pipeline, seen } = job({ bad: (word) => !isMended && word !== "B" });
    const { host, run } = await ran(pipeline, ["a", "b", "c"]);
    const before = await all(host.operations.messages("first"));
    const { status, inputs, done, ended } = await run.inspect();
    const letters = await all(run.deadLetters());
    expect([seen, letters.map(({ value }) => value)]).toEqual([["B"], ["A", "C"]]);
    isMended = true;
    const again = await run.replay({ dead: true, id: "second" });
    expect(await again.completed()).toMatchObject({ id: "second", inputs: 2, done: 2, dead: 0, pending: 0 });
    expect(seen).toEqual(["B", "k:A", "C"]);
    expect(await host.operations.status("second")).toMatchObject({ replays: "first", pipeline: "job" });
    expect(await run.inspect()).toMatchObject({ status, inputs, done, ended, dead: 0, replayed: 2 });
    const after = (await all(host.operations.messages("first"))).map(({ fate, ...message }) => message);
    expect(after).toEqual(before);
    // The second time under this id attaches.
    expect(await host.operations.replay("first", { dead: true, id: "second" })).toEqual({
      ...{ id: "second", messages: 2 },
    });
    expect(seen).toHaveLength(3);
  });

  test("takes dead letters over: another replay finds none of them, unless it asks for them again [Y447]", async () => {
    let isMended = false;
    const { pipeline, seen } = job({ bad: (word) => !isMended && word !== "B" });
    const { run } = await ran(pipeline, ["a", "b", "c"]);
    isMended = true;
    const by = { by: "ada", reason: "mended" };
    await (await run.replay({ dead: true, id: "second", ...by })).completed();
    expect(await all(run.deadLetters())).toEqual([]);
    expect(await all(run.deadRecords())).toMatchObject([
      { id: "10.10.10", fate: "replayed", into: "second", value: "A", ...by },
      { id: "10.12.10", fate: "replayed", into: "second", value: "C", ...by },
    ]);
    await expect(run.replay({ dead: true })).rejects.toThrow(
      /no dead letters; pass `again` to repeat those that were replayed before/,
    );
    await expect(run.replay({ messages: ["10.10.10"] })).rejects.toThrow(/10\.10\.10 was replayed.*`again`/);
    await expect(run.retryDead("10.10.10")).rejects.toThrow(/it was replayed/);
    const third = await run.replay({ dead: true, again: true, id: "third" });
    expect(await third.completed()).toMatchObject({ inputs: 2, done: 2 });
    const fourth = await run.replay({ messages: ["10.12.10"], again: true });
    expect(await fourth.completed()).toMatchObject({ inputs: 1, done: 1 });
    expect(seen).toEqual(["B", "k:A", "C", "k:A", "C", "C"]);
    expect((await all(run.deadRecords())).map(({ copies, into }) => [copies, into])).toEqual([
      [1, "third"],
      [2, fourth.id],
    ]);
    expect(await run.status()).toMatchObject({ dead: 0, replayed: 2, done: 6 });
  });

  test("of dead letters has each once, whichever hosts replay them at the same time, and wherever one dies [Y448]", async () => {
    const COUNT = 1_000;
    const { pipeline, seen } = job({ bad: () => !isMended, concurrency: 30 });
    let isMended = false;
    const values = Array.from({ length: COUNT }, (_, i) => `w${i}`);
    const { on, store, host } = await ran(pipeline, values);
    await host.stop();
    isMended = true;
    // The first program dies on the way; two others replay what is left, and the host takes the rest of the first up.
    const mortal = await openPipelineOperations(on, dying(store), { pipelines: [pipeline] });
    const steady = await openPipelineOperations(on, store, { pipelines: [pipeline] });
    await expect(mortal.replay("first", { dead: true, id: "mortal" })).rejects.toThrow("killed");
    const asked = ["one", "two"].map((id) => steady.replay("first", { dead: true, id }));
    const counts = (await Promise.all(asked)).map(({ messages }) => messages);
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(COUNT - 400);
    const again = await hostOf(on, store, pipeline);
    let done = 0;
    for (const id of ["mortal", "one", "two"]) done += (await again.get(id).completed()).done;
    expect(done).toBe(COUNT);
    expect(seen.map((word) => word.replace("k:", "")).sort()).toEqual(
      values.map((one) => one.toUpperCase()).sort(),
    );
    expect(await steady.status("first")).toMatchObject({ dead: 0, replayed: COUNT });
    await steady.close();
  });

  test("of a route is all messages that it took, if it keeps values [Y105]", async () => {
    const { pipeline, seen } = job({ bad: (word) => word === "C", keep: true });
    const { host, run } = await ran(pipeline, ["a", "b", "c", "d"]);
    const again = await run.replay({ route: "check" });
    expect(await again.completed()).toMatchObject({ inputs: 4, done: 4, dead: 1 });
    expect(seen.slice(3)).toEqual(["k:A", "B", "D"]);
    // A replay of the replay: its ids are new, and so are its counts.
    const third = await again.replay({ route: "check" });
    expect(await third.completed()).toMatchObject({ inputs: 4, done: 4, dead: 1 });
    expect(await host.operations.status(third.id)).toMatchObject({ replays: again.id });
  });

  test("of one message takes its value from wherever it is [Y105]", async () => {
    const { pipeline, seen } = job({ bad: (word) => word === "C", keep: true });
    const { run } = await ran(pipeline, ["a", "b", "c"]);
    const again = await run.replay({ messages: ["10.11.10", "10.12.10", "10.11.10"] });
    expect(await again.completed()).toMatchObject({ inputs: 2, done: 2, dead: 1 });
    expect(seen.slice(2)).toEqual(["B"]);
  });

  test("of a cancelled execution takes the messages left in the queue, delayed ones too [Y105]", async () => {
    let isOpen = false;
    const numbers = queue<number>("numbers");
    const seen: number[] = [];
    const slow = route("slow", {
      ...{ from: numbers, concurrency: 2, retry: { attempts: 2, backoff: { minMs: 1e6, maxMs: 1e6 } } },
    }).via("slow", async (n, ctx) => {
      if (!isOpen && n === 0) throw new Error("not yet");
      if (!isOpen)
        return new Promise<undefined>((resolve) =>
          ctx.signal.addEventListener("abort", () => resolve(undefined)),
        );
      seen.push(n);
      return undefined;
    });
    const pipeline = definePipeline("slow", { routes: [slow] });
    const host = await hostOf(system(), newStore(), pipeline);
    const run = await host.start(pipeline, { messages: { to: numbers, values: [0, 1, 2, 3] } });
    while ((await run.inspect()).queues[0]?.delayed !== 1);
    await expect(run.replay({ route: "slow" })).rejects.toThrow(/it has no messages of the route slow/);
    await run.cancel();
    await run.completed().catch(() => undefined);
    isOpen = true;
    const again = await run.replay({ route: "slow" });
    expect(await again.completed()).toMatchObject({ inputs: 4, done: 4 });
    expect(seen.sort()).toEqual([0, 1, 2, 3]);
  });

  test("opens no source of the pipeline again, and has the configuration of now", async () => {
    let opened = 0;
    const source = {
      name: "given",
      *open() {
        opened++;
        yield { value: "bad", checkpoint: 1 };
      },
    };
    const version = (attempts: number) => {
      const read = route("read", { from: lines, retry: { attempts, backoff: { minMs: 1, maxMs: 1 } } }).via(
        "read",
        () => {
          throw new Error("no");
        },
      );
      return definePipeline("sourced", { routes: [read], sources: [feed(source, lines)] });
    };
    const store = newStore();
    const keep = await openPipelineOperations(system(), store);
    const first = await hostOf(system(), store, version(1));
    const run = await first.start(version(1), { id: "a" });
    await run.completed();
    await first.stop();
    const second = await hostOf(system(), store, version(2));
    const again = await second.get("a").replay({ dead: true, id: "b" });
    expect(await again.completed()).toMatchObject({ inputs: 1, dead: 1 });
    const { configuration, sources } = await again.inspect();
    expect(configuration).toMatchObject({ routes: [{ policy: { retry: { attempts: 2 } } }] });
    expect([opened, sources]).toEqual([1, [{ name: "(replay)", given: 1, open: false }]]);
    const [letter] = await all(again.deadLetters());
    expect(letter).toMatchObject({ id: "11.10", value: "bad" });
    await keep.close();
  });

  test("says clearly what cannot be replayed, and begins nothing then [Y106]", async () => {
    const { pipeline } = job({ bad: (word) => word === "C" });
    const { host, run } = await ran(pipeline, ["a", "b", "c"]);
    const refused: readonly (readonly [ReplayOptions, RegExp])[] = [
      [
        { messages: ["10.10", "10.12.10"] },
        /values of 1 of 2 are not there: 10\.10\. Each was settled by a route/,
      ],
      [{ messages: ["10.17"] }, /values of 1 of 1 are not there: 10\.17/],
      [{ route: "check" }, /route check has settled 2 messages whose values are gone/],
      [{ route: "chek" }, /has no route chek; it has split, check/],
      [{ dead: true, route: "split" }, /it has no dead letters of the route split/],
      [{ dead: true, id: "first" }, /the id "first" belongs to an execution that does not replay it/],
    ];
    for (const [options, text] of refused) {
      const error = await run.replay(options).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "ERR_PIPELINE_REPLAY", message: expect.stringMatching(text) });
    }
    for (const options of [
      {},
      { messages: [] },
      { messages: ["x"] },
      { messages: ["10.10"], dead: true },
      { dedd: true },
    ])
      await expect(run.replay(options as ReplayOptions)).rejects.toMatchObject({ code: "ERR_OPTION" });
    expect((await host.operations.list()).executions).toHaveLength(1);
    const partial = await run.replay({ route: "check", partial: true });
    expect(await partial.completed()).toMatchObject({ inputs: 1, dead: 1 });
  });

  test("that a program begins without a host finds no message interrupted when a host takes it up", async () => {
    const attempts: number[] = [];
    const read = route("read", { from: lines, retry: ONCE }).via("read", (_line, ctx) => {
      attempts.push(ctx.attempt);
      throw new Error("no");
    });
    const pipeline = definePipeline("read", { routes: [read] });
    const { on, store, host } = await ran(pipeline, ["a"]);
    const operations = await openPipelineOperations(on, store, { pipelines: [pipeline] });
    await host.stop();
    expect(await operations.replay("first", { dead: true, id: "second" })).toEqual({
      id: "second",
      messages: 1,
    });
    const again = await hostOf(on, store, pipeline);
    expect(await again.get("second").completed()).toMatchObject({ done: 1, dead: 1 });
    expect(attempts).toEqual([1, 1]);
    await operations.close();
  });

  test("has every message once, however many there are, also if another host fills it or was killed while doing so [Y107]", async () => {
    const COUNT = 1_000;
    const { pipeline, seen } = job({ keep: true, concurrency: 30 });
    const values = Array.from({ length: COUNT }, (_, i) => `w${i}`);
    const { on, store, host } = await ran(pipeline, values);
    seen.length = 0;
    await host.stop();
    // The first program dies on the way. Two others do the rest at the same time.
    const mortal = await openPipelineOperations(on, dying(store), { pipelines: [pipeline] });
    const steady = await openPipelineOperations(on, store, { pipelines: [pipeline] });
    await expect(mortal.replay("first", { route: "check", id: "second" })).rejects.toThrow("killed");
    expect(await steady.status("second")).toMatchObject({ inputs: 400, pending: 401 });
    const tables = await store.open([PIPELINE_SCHEMA], storeContext(on.kernel));
    const { number } = (await findExecution(tables, "second")) as ExecutionRow;
    const claims = await Promise.all(["a", "b"].map((name) => tables.claim(name, { owner: name })));
    await Promise.all(claims.map((claim) => fillReplay(tables, claim as Claim, number)));
    expect(await steady.status("second")).toMatchObject({ inputs: COUNT, pending: COUNT });
    await tables.close();
    const again = await hostOf(on, store, pipeline);
    expect(await again.get("second").completed()).toMatchObject({ inputs: COUNT, done: COUNT, dead: 0 });
    const wanted = values.map((value, i) => (i === 0 ? "k:W0" : value.toUpperCase()));
    expect(seen.sort()).toEqual(wanted.sort());
    await steady.close();
  });
});

/** A store whose third commit never happens: the one before has filled a part. */
function dying(source: StoreSource): StoreSource {
  return {
    label: source.label,
    open: async (...given) => {
      const store = await source.open(...given);
      let commits = 0;
      return new Proxy(store, {
        get(of, name) {
          if (name === "commit" && ++commits === 3) return () => Promise.reject(new Error("killed"));
          const member: unknown = Reflect.get(of, name);
          return typeof member === "function" ? member.bind(of) : member;
        },
      });
    },
  };
}
