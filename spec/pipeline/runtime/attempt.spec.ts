import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Payloads } from "../../../lib/host/payload/payloads.js";
import type { AdapterContext, Item, Stage } from "../../../lib/pipeline/definition/adapter.js";
import { many } from "../../../lib/pipeline/definition/adapter.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { type AnyRoute, route } from "../../../lib/pipeline/definition/route.js";
import { RouteAttempt, segmentOf, toTheEnd } from "../../../lib/pipeline/runtime/attempt.js";
import { valueHash } from "../../../lib/pipeline/runtime/value-hash.js";
import { isThenable } from "../../../lib/process/thenable.js";

const message = { id: "10.10", queue: "in", value: "x", key: "k", attempts: 1, errors: ["first"] };
const place = { pipeline: "p", execution: "e", route: "r", clock: undefined };
const by = new AbortController();

function pass(of: AnyRoute | { readonly stages: readonly Stage[] }, value: unknown, clock?: () => number) {
  const attempt = new RouteAttempt({ ...place, clock }, { ...message, value }, by);
  const wait = attempt.begin(segmentOf(of.stages));
  return { attempt, result: wait === undefined ? attempt.items : toTheEnd(attempt, wait) };
}
const lines = queue<string>("lines");

describe("an attempt", () => {
  test("takes the result of each adapter to the next one, without a promise as long as they answer at once", () => {
    const upper = route("r", { from: lines })
      .via("upper", (line) => line.toUpperCase())
      .via("length", (line) => line.length);
    expect(pass(upper, "abc").result).toEqual([{ value: 3, key: "k" }]);
  });

  test("ends where an adapter returns nothing", () => {
    const seen: string[] = [];
    const short = route("r", { from: lines })
      .via("short", (line) => (line.length < 3 ? line : undefined))
      .via("see", (line) => seen.push(line));
    expect(pass(short, "long line").result).toEqual([]);
    expect(seen).toEqual([]);
  });

  test("goes on with each of several values, each with a key of its own", async () => {
    const words = route("r", { from: lines })
      .via("split", (line) => many(line.split(" "), (word) => word[0]))
      .via("upper", (word) => word.toUpperCase());
    expect(await pass(words, "to be").result).toEqual([
      { value: "TO", key: "t" },
      { value: "BE", key: "b" },
    ]);
  });

  test("goes past an adapter whose condition is false", () => {
    const some = route("r", { from: lines }).via("upper", (line: string) => line.toUpperCase(), {
      when: { field: "", operator: "matches", value: "^a" },
    });
    expect(pass(some, "abc").result).toEqual([{ value: "ABC", key: "k" }]);
    expect(pass(some, "xyz").result).toEqual([{ value: "xyz", key: "k" }]);
  });

  test("gives each call a key that names message, adapter and call, the same in every attempt", async () => {
    const keys: string[] = [];
    const see = (value: string, ctx: AdapterContext) => {
      keys.push(ctx.idempotencyKey);
      expect(ctx).toMatchObject({
        id: "10.10",
        attempt: 2,
        key: "k",
        pipeline: "p",
        execution: "e",
        route: "r",
      });
      return value;
    };
    const split = route("r", { from: lines })
      .via("see", see)
      .via("split", (line) => many(line))
      .via("each", see);
    await pass(split, "ab").result;
    await pass(split, "ab").result;
    const once = ["e/10.10/see", "e/10.10/each", "e/10.10/each#2"];
    expect(keys).toEqual([...once, ...once]);
  });

  test("hashes what each call got, if it failed too, and nothing that has no hash", async () => {
    const hash = valueHash(new Payloads());
    const calls = async (stages: AnyRoute, of = hash) => {
      const attempt = new RouteAttempt(
        { ...place, clock: () => 1, hash: of },
        { ...message, value: "ab" },
        by,
      );
      await (async () => toTheEnd(attempt, attempt.begin(segmentOf(stages.stages))))().catch(() => undefined);
      return attempt.calls?.map(({ status, input, output }) => [status, input, output]);
    };
    const [ab, nine] = [hash("ab"), hash(9)];
    expect([ab, nine]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), hash(9)]);
    expect(ab).not.toBe(nine);
    const via = (second: (value: string) => unknown) =>
      route("r", { from: lines })
        .via("same", (value) => value)
        .via("second", second as (value: string) => string);
    const first = ["completed", ab, ab];
    expect(await calls(via(() => undefined))).toEqual([first, ["ended", ab, undefined]]);
    expect(await calls(via(async () => undefined))).toEqual([first, ["ended", ab, undefined]]);
    expect(await calls(via(() => Symbol("new")))).toEqual([first, ["completed", ab, undefined]]);
    const failing = [
      () => {
        throw new Error("no");
      },
      () => Promise.reject(new Error("no")),
    ];
    for (const fail of failing) expect(await calls(via(fail))).toEqual([first, ["failed", ab, undefined]]);
    const late = (encode: () => Promise<string>) =>
      valueHash(new Payloads({ codec: { name: "late", encode, decode: () => 1 } }));
    for (const encode of [async () => "x", () => Promise.reject(new Error("no key"))])
      expect(
        await calls(
          via(() => 9),
          late(encode),
        ),
      ).toEqual([
        ["completed", undefined, undefined],
        ["completed", undefined, undefined],
      ]);
  });

  test("records each call, how long it took and what it gave", async () => {
    let now = 0;
    const mixed = route("r", { from: lines })
      .via("skipped", (line: string) => line, { when: () => false })
      .via("sync", (line) => line)
      .via("late", async (line) => {
        now += 5;
        return many([line, line, line]);
      })
      .via("end", () => undefined);
    const { attempt, result } = pass(mixed, "abc", () => now);
    await result;
    const ended = { adapter: "end", status: "ended", startedMs: 5, tookMs: 0, gave: 0 };
    expect(attempt.calls).toEqual([
      { adapter: "skipped", status: "skipped", startedMs: 0, tookMs: 0, gave: 1 },
      { adapter: "sync", status: "completed", startedMs: 0, tookMs: 0, gave: 1 },
      { adapter: "late", status: "completed", startedMs: 0, tookMs: 5, gave: 3 },
      ...[ended, ended, ended],
    ]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no"))],
    ["gives up", (_: string, ctx: AdapterContext) => ctx.giveUp("no")],
  ])("fails at the adapter that %s, with the calls so far", async (_, fail) => {
    const failing = route("r", { from: lines })
      .via("fine", (line) => line)
      .via("bad", fail);
    const attempt = new RouteAttempt({ ...place, clock: () => 1 }, message, by);
    const run = async () => toTheEnd(attempt, attempt.begin(segmentOf(failing.stages)));
    await expect(run()).rejects.toThrow("no");
    expect(attempt.adapter).toBe("bad");
    expect(
      attempt.calls?.map(({ adapter, status, error }) => [adapter, status, error?.split(":")[0]]),
    ).toEqual([
      ["fine", "completed", undefined],
      ["bad", "failed", expect.stringMatching(/Error$/)],
    ]);
  });
});

/** A step of a random route, and what it makes of a list of numbers. */
const steps = fc.array(
  fc.record({
    kind: fc.constantFrom("add", "drop odd", "twice", "nothing twice"),
    isLate: fc.boolean(),
    when: fc.constantFrom("always", "even", "never"),
  }),
  { maxLength: 6 },
);

test("an attempt gives what a list of values gives that is mapped step by step", async () => {
  const holds = { always: () => true, never: () => false, even: (n: number) => n % 2 === 0 };
  const does = {
    add: (n: number) => [n + 1],
    "drop odd": (n: number) => (n % 2 === 0 ? [n] : []),
    twice: (n: number) => [n, n + 1],
    "nothing twice": () => [],
  };
  await fc.assert(
    fc.asyncProperty(steps, fc.nat({ max: 9 }), async (plan, start) => {
      const expected = plan.reduce(
        (values, { kind, when }) => values.flatMap((n) => (holds[when](n) ? does[kind](n) : [n])),
        [start],
      );
      const stages = plan.map(({ kind, isLate, when }, i): Stage => {
        const process = (n: number) => {
          const [first, ...more] = does[kind](n);
          const given = more.length > 0 ? many([first, ...more]) : first;
          return isLate ? Promise.resolve(given) : given;
        };
        return { adapter: { name: `a${i}`, process } as never, when: holds[when] as never };
      });
      const { result } = pass({ stages }, start);
      const isSure = plan.every(({ isLate, kind }) => !isLate && kind !== "twice");
      if (isSure) expect(isThenable(result)).toBe(false);
      expect(((await result) as readonly Item<number>[]).map(({ value }) => value)).toEqual(expected);
    }),
  );
});
