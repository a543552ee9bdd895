import { describe, expect, test } from "vitest";
import type { AdapterContext } from "../../../lib/pipeline/definition/adapter.js";
import { queue } from "../../../lib/pipeline/definition/queue.js";
import { route } from "../../../lib/pipeline/definition/route.js";
import { AdapterMemory } from "../../../lib/pipeline/runtime/adapter-memory.js";
import { RouteAttempt, segmentOf, toTheEnd } from "../../../lib/pipeline/runtime/attempt.js";
import { System } from "../../../lib/system.js";
import { testClock } from "../../../lib/testing/index.js";

/** A ledger that remembers what is committed to it. */
function ledger() {
  const stored = new Map<string, unknown>();
  return {
    memory: new AdapterMemory({
      recall: async (adapter, key) => stored.get(`${adapter}/${key}`),
      forget: () => undefined,
    }),
    commit({ remembered }: RouteAttempt) {
      for (const { adapter, key, value } of remembered ?? []) stored.set(`${adapter}/${key}`, value);
    },
  };
}

const lines = queue<string>("lines");
const counting = route("r", { from: lines }).via("count", async (line, ctx: AdapterContext) => {
  const before = ((await ctx.recall(line)) ?? 0) as number;
  ctx.remember(line, before + 1);
  return before + 1;
});

function attemptOf(memory: AdapterMemory, value: string) {
  const abort = new AbortController();
  const place = { pipeline: "p", execution: "e", route: "r", clock: undefined, memory };
  const message = { id: `10.1${value}`, queue: "lines", value, key: undefined, attempts: 0, errors: [] };
  const attempt = new RouteAttempt(place, message, abort);
  const result = toTheEnd(attempt, attempt.begin(segmentOf(counting.stages)));
  return { attempt, result, abort };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("the memory of adapters", () => {
  test("is there for the next message once it is committed", async () => {
    const { memory, commit } = ledger();
    for (const n of [1, 2, 3]) {
      const { attempt, result } = attemptOf(memory, "a");
      expect(await result).toMatchObject([{ value: n }]);
      commit(attempt);
      attempt.release();
    }
  });

  test("is read by one message in work at a time for each key", async () => {
    const { memory, commit } = ledger();
    const first = attemptOf(memory, "a");
    const second = attemptOf(memory, "a");
    const other = attemptOf(memory, "b");
    expect(await first.result).toMatchObject([{ value: 1 }]);
    expect(await other.result).toMatchObject([{ value: 1 }]);
    await settled();
    expect(second.attempt.remembered).toBeUndefined();
    commit(first.attempt);
    first.attempt.release();
    expect(await second.result).toMatchObject([{ value: 2 }]);
  });

  test("is forgotten with an attempt that fails", async () => {
    const { memory } = ledger();
    const first = attemptOf(memory, "a");
    const second = attemptOf(memory, "a");
    await first.result;
    first.attempt.release();
    expect(await second.result).toMatchObject([{ value: 1 }]);
  });

  test("is waited for no longer than the attempt lasts", async () => {
    const { memory } = ledger();
    const first = attemptOf(memory, "a");
    const second = attemptOf(memory, "a");
    await first.result;
    second.abort.abort(new Error("too late"));
    await expect(second.result).rejects.toThrow("too late");
    first.attempt.release();
    expect(await attemptOf(memory, "a").result).toMatchObject([{ value: 1 }]);
  });

  test("is seen by later values of the same message", async () => {
    const { memory } = ledger();
    const abort = new AbortController();
    const place = { pipeline: "p", execution: "e", route: "r", clock: undefined, memory };
    const message = { id: "10.10", queue: "lines", value: "a", key: undefined, attempts: 0, errors: [] };
    const attempt = new RouteAttempt(place, message, abort);
    const twice = ["a", "a"].map((value) => ({ value, key: undefined }));
    const wait = attempt.beginWith(segmentOf(counting.stages), twice);
    expect(await toTheEnd(attempt, wait)).toMatchObject([{ value: 1 }, { value: 2 }]);
    expect(attempt.remembered).toHaveLength(2);
  });
});

test("an adapter waits by the clock of its system, and no longer than its attempt lasts", async () => {
  const clock = testClock();
  await using system = new System({ environment: clock.environment });
  const abort = new AbortController();
  const place = { pipeline: "p", execution: "e", route: "r", clock: undefined, kernel: system.kernel };
  const message = { id: "10.10", queue: "lines", value: "a", key: undefined, attempts: 0, errors: [] };
  const attempt = new RouteAttempt(place, message, abort);
  const short = attempt.sleep(10).then(() => "slept");
  const long = attempt.sleep(1_000);
  await clock.advance(10);
  expect(await short).toBe("slept");
  abort.abort(new Error("cancelled"));
  await expect(long).rejects.toThrow("cancelled");
});
