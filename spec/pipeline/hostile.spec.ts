// Adapters, sources and messages that are not what they should be: each has a clear error, and everything beside it goes on.

import { System } from "signalbox";
import {
  type AnyRoute,
  definePipeline,
  type ExecutionFailedError,
  type Feed,
  feed,
  type GivenMessages,
  many,
  pipelineHost,
  queue,
  route,
  runPipeline,
  type Source,
} from "signalbox/pipeline";
import { memory, openStore } from "signalbox/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { deadLetters, PIPELINE_SCHEMA } from "../../lib/pipeline/ledger/tables.js";
import { HOSTILE as ALL, bristling } from "../support/hostile.js";
import { proving } from "../support/proof.js";
import { audited } from "./simulated/audit.js";

const numbers = queue<number>("numbers");
const results = queue<unknown>("results");
const QUICK = { attempts: 2, backoff: { minMs: 1, maxMs: 1 } };

/** Writing a number of a million bits takes long. */
const HOSTILE = ALL.filter(([, value]) => typeof value !== "bigint");

const thenable = (then: () => unknown): unknown => Object.fromEntries(["then"].map((name) => [name, then]));

const THREE = { to: numbers, values: [0, 1, 2] };

interface End {
  readonly status: string;
  readonly done: number;
  readonly dead: number;
  /** The last error of each dead letter. */
  readonly errors: readonly string[];
  /** Why the execution has failed. */
  readonly cause: unknown;
}

/** Runs a pipeline in a store to its end, and looks at its rows. */
async function run(
  routes: readonly AnyRoute[],
  messages: GivenMessages<number> | undefined,
  sources: readonly Feed[] = [],
  limits: { readonly maxMessageBytes?: number } = {},
): Promise<End> {
  const source = memory();
  const system = new System({ report: false });
  onTestFinished(() => system.stop());
  const readers = new Set(routes.map(({ options }) => options.from.name));
  const rest = readers.has("results") ? [] : [route("rest", { from: results }).via("rest", () => undefined)];
  const pipeline = definePipeline("garbage", { routes: [...routes, ...rest], sources, ...limits });
  const host = await system.start(pipelineHost({ store: source, pipelines: [pipeline], drainMs: 1 }));
  const execution = await host.start<unknown, number>(pipeline, {
    id: "x",
    ...(messages !== undefined && { messages }),
  });
  const failed = await execution.completed().catch((error: ExecutionFailedError) => error);
  const summary = failed instanceof Error ? failed.summary : failed;
  await using store = await openStore(system, source, [PIPELINE_SCHEMA]);
  await audited(store, "x");
  const letters = await store.scan(deadLetters, {});
  const { status, done, dead } = summary;
  const errors = letters.map(({ history }) => (JSON.parse(history) as string[]).at(-1) ?? "");
  return { status, done, dead, errors, cause: failed instanceof Error ? failed.cause : undefined };
}

/** Runs an adapter on 0, 1 and 2. */
async function ended(process: (n: number) => unknown): Promise<End & { readonly seen: readonly unknown[] }> {
  const seen: unknown[] = [];
  const work = route("work", { from: numbers, retry: QUICK, timeoutMs: 20, overrunMs: 0 })
    .via<unknown>("work", process as never)
    .to(results);
  const read = route("read", { from: results }).via("read", (value) => void seen.push(value));
  return { ...(await run([work, read], THREE)), seen };
}

describe("an adapter", () => {
  test.each(HOSTILE)(
    "that returns %s: it is stored, or its message is a dead letter [Y130]",
    async (_, value) => {
      for (const wrong of [value, many([value]), { deep: [1, value] }]) {
        const { status, done, dead, seen, errors } = await ended((n) => (n === 1 ? wrong : n));
        expect({ status, done: done - seen.length }).toEqual({ status: "completed", done: 3 });
        expect(seen.length + dead).toBe(3);
        expect(errors.length).toBe(dead);
        for (const error of errors) expect(error).toMatch(/cannot be stored|revoked|hands off/);
      }
    },
  );

  test.each(HOSTILE)(
    "that throws %s: its message is a dead letter, with some text [Y130]",
    async (_, value) => {
      for (const isLate of [false, true]) {
        const { status, dead, seen, errors } = await ended((n) => {
          if (n !== 1) return n;
          if (isLate) return Promise.reject(value);
          throw value;
        });
        expect([status, dead, seen.length]).toEqual(["completed", 1, 2]);
        expect(errors[0]).toMatch(/./);
      }
    },
  );

  test.each<readonly [string, () => unknown, RegExp]>([
    [
      "never answers",
      () => new Promise(() => undefined),
      /AdapterTimeoutError: .*adapter work took longer than 20 ms/,
    ],
    [
      "answers with a thenable that never calls back",
      () => thenable(() => undefined),
      /took longer than 20 ms/,
    ],
    [
      "answers with a thenable that throws",
      () =>
        thenable(() => {
          throw new Error("thrown by then");
        }),
      /thrown by then/,
    ],
    ["answers with a Proxy whose traps throw", () => bristling(), /hands off/],
    ["gives a key that is no text", () => many([1], () => 5 as never), /key must be a text/],
    ["gives a key that is too long", () => many([1], () => "k".repeat(2_000)), /key must be a text/],
    ["gives a list that is none", () => ({ ...many([1]), values: 5 }), /./],
    [
      "gives itself",
      () => {
        const me: unknown[] = [];
        me.push(me);
        return me;
      },
      /cannot be stored/,
    ],
  ])("that %s: its message is a dead letter that says so [Y130]", async (_, wrong, text) => {
    const { status, dead, seen, errors } = await ended((n) => (n === 1 ? wrong() : n));
    expect([status, seen.length + dead]).toEqual(["completed", 3]);
    if (dead > 0) expect(errors[0]).toMatch(text);
  });

  test("whose result cannot be stored has a dead letter with the way to what cannot (bug 41) [Y131]", async () => {
    const { dead, errors } = await ended((n) => (n === 1 ? { rows: [0, { send: () => 1 }] } : n));
    expect(dead).toBe(1);
    expect(errors[0]).toMatch(/^UnstorableValueError: .*rows\[1\]\.send is the function/);
  });
});

describe("a batch", () => {
  test.each<readonly [string, () => unknown, RegExp]>([
    ["gives a text", () => "three", /a batch gives a list of results, or undefined/],
    ["gives null", () => null, /a batch gives a list of results, or undefined/],
    ["gives what cannot be stored", () => [Symbol("s")], /cannot be stored/],
    ["never answers", () => new Promise(() => undefined), /adapter gather took longer than 20 ms/],
    ["rejects with nothing", () => Promise.reject(undefined), /undefined/],
  ])(
    "that %s is tried message by message, and each has a dead letter that says so [Y130]",
    async (_, wrong, text) => {
      const work = route("work", { from: numbers, retry: QUICK, timeoutMs: 20, overrunMs: 0 })
        .batch("gather", { size: 3 }, wrong as never)
        .to(results);
      const { status, done, dead, errors } = await run([work], THREE);
      expect([status, done, dead]).toEqual(["completed", 3, 3]);
      for (const error of errors) expect(error).toMatch(text);
    },
  );

  test("that fails a message which it does not have is tried message by message", async () => {
    const work = route("work", { from: numbers, retry: QUICK }).batch("gather", { size: 3 }, (_all, ctx) => {
      ctx.fail(7, new Error("no"));
      return undefined;
    });
    const { dead, errors } = await run([work], THREE);
    expect(dead).toBe(3);
    expect(errors[0]).toMatch(/ctx.fail\(7\): the batch has 1 values/);
  });
});

const open =
  (next: () => unknown): Source["open"] =>
  () =>
    ({ [Symbol.iterator]: () => ({ next }) }) as never;

const SOURCES: readonly (readonly [string, Source["open"], RegExp])[] = [
  [
    "cannot be opened",
    () => {
      throw new Error("no such file");
    },
    /no such file/,
  ],
  ["opens nothing", () => undefined as never, /source bad gives no iterable but undefined/],
  ["opens a number", () => 7 as never, /source bad gives no iterable but a number/],
  [
    "answers with no iterator result",
    open(() => 5),
    /source bad gives .*, which is no \{ value, checkpoint \}/,
  ],
  [
    "gives nothing",
    open(() => ({ done: false, value: undefined })),
    /source bad gives .*, which is no \{ value, checkpoint \}/,
  ],
  [
    "gives a number",
    open(() => ({ done: false, value: 3 })),
    /source bad gives .*, which is no \{ value, checkpoint \}/,
  ],
  ["gives a Proxy whose traps throw", open(() => ({ done: false, value: bristling() })), /hands off/],
  [
    "gives a value that cannot be stored",
    () => [{ value: { f: () => 1 }, checkpoint: 1 }],
    /message\.f is the function/,
  ],
  [
    "has a checkpoint that cannot be stored",
    () => [{ value: 1, checkpoint: [() => 1] }],
    /checkpoint\[0\] is the function/,
  ],
  ["gives a key that is no text", () => [{ value: 1, checkpoint: 1, key: 7 as never }], /key must be a text/],
];

describe("a source", () => {
  test.each(SOURCES)(
    "that %s fails its execution with an error that says so [Y132]",
    async (_, opened, text) => {
      const read = route("read", { from: results }).via("read", () => undefined);
      const { status, cause } = await run([read], undefined, [feed({ name: "bad", open: opened }, results)]);
      expect(status).toBe("failed");
      expect(String(cause)).toMatch(text);
    },
  );
});

describe("messages that are large", () => {
  test("a result of 50 MB is a dead letter by its size, and others pass it by; in memory alone it passes [Y133]", async () => {
    const large = "x".repeat(50_000_000);
    const sizes: number[] = [];
    const routes = [
      route("blow", { from: numbers, retry: QUICK })
        .via("blow", (n) => (n === 1 ? large : "small"))
        .to(results),
      route("read", { from: results }).via("read", (text) => void sizes.push((text as string).length)),
    ];
    const refused = await run(routes, THREE);
    expect([refused.status, refused.done, refused.dead, sizes]).toEqual(["completed", 5, 1, [5, 5]]);
    expect(refused.errors[0]).toMatch(
      /^MessageTooLargeError: .*queue results has 50000002 bytes, and maxMessageBytes is 1048576/,
    );
    await expect(run(routes, THREE, [], { maxMessageBytes: 50_000_002 })).rejects.toThrow(
      /pipelines\[0\]\.maxMessageBytes must be at most 12582912 with a store/,
    );
    sizes.length = 0;
    const system = new System({ report: false });
    onTestFinished(() => system.stop());
    const pipeline = definePipeline("volatile", { routes });
    expect(await runPipeline(system, pipeline, { messages: THREE })).toMatchObject({ done: 6, dead: 0 });
    expect(sizes.sort((a, b) => a - b)).toEqual([5, 5, 50_000_000]);
  });

  test("many of them, from a source and in work together, are written in several commits [Y134]", async () => {
    const count = proving ? 40 : 20;
    const text = "x".repeat(1_000_000);
    const texts: Source<number, number> = {
      name: "texts",
      *open() {
        for (let i = 0; i < count; i++) yield { value: i, checkpoint: i };
      },
    };
    const seen: number[] = [];
    const routes = [
      route("blow", { from: numbers, concurrency: count })
        .via("blow", (n) => ({ n, text }))
        .to(results),
      route("keep", { from: results }).via("keep", (value) => void seen.push((value as { n: number }).n)),
    ];
    const { status, done } = await run(routes, undefined, [feed(texts, numbers)]);
    expect([status, done, seen.length]).toEqual(["completed", 2 * count, count]);
    const given: Source<string, number> = {
      name: "given",
      *open() {
        for (let i = 0; i < count; i++) yield { value: text, checkpoint: i };
      },
    };
    const keep = route("keep", { from: results }).via("keep", () => undefined);
    expect(await run([keep], undefined, [feed(given, results)])).toMatchObject({
      status: "completed",
      done: count,
    });
  });

  test("those of one message that do not fit into a commit make a dead letter of it [Y134]", async () => {
    const { dead, done, errors } = await ended((n) =>
      n === 1 ? many(Array.from({ length: 10 }, () => "x".repeat(1_000_000))) : n,
    );
    expect([done, dead]).toEqual([5, 1]);
    expect(errors[0]).toMatch(
      /^StepTooLargeError: 10 messages .* have a size of 10000020 together, and one commit holds 8388608/,
    );
  });
});
