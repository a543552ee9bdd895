import { describe, expect, test } from "vitest";
import { type Tick, timer } from "../../../lib/pipeline/sources/timer.js";
import { System } from "../../../lib/system.js";
import { testClock } from "../../../lib/testing/index.js";

function running(options: Parameters<typeof timer>[1], checkpoint?: Tick) {
  const clock = testClock();
  const system = new System({ environment: clock.environment });
  const abort = new AbortController();
  const ticks: Tick[] = [];
  const startMs = clock.environment.wallTime();
  const { kernel } = system;
  const ctx = { checkpoint, input: undefined, signal: abort.signal, kernel };
  const ended = (async () => {
    for await (const { value } of timer("timer", options).open(ctx)) ticks.push(value);
  })();
  const due = () => ticks.map(({ dueMs }) => dueMs - startMs);
  return { clock, abort, ticks, ended, due, startMs, [Symbol.asyncDispose]: () => system.stop() };
}

describe("a timer", () => {
  test("fires every so often, so many times", async () => {
    await using run = running({ everyMs: 100, times: 3 });
    await run.clock.advance(250);
    expect(run.due()).toEqual([100, 200]);
    await run.clock.advance(100);
    await run.ended;
    expect(run.ticks.map(({ n }) => n)).toEqual([0, 1, 2]);
  });

  test("makes up for one of the missed times", async () => {
    const clock = testClock();
    const last = { n: 6, dueMs: clock.environment.wallTime() - 950 };
    await using run = running({ everyMs: 100, times: 9 }, last);
    await run.clock.advance(0);
    expect(run.due()).toEqual([-50]);
    await run.clock.advance(60);
    await run.ended;
    expect(run.ticks.map(({ n }) => n)).toEqual([7, 8]);
    expect(run.due()).toEqual([-50, 50]);
  });

  test("waits once at most where the clock was set back", async () => {
    const clock = testClock();
    const last = { n: 0, dueMs: clock.environment.wallTime() + 1_000_000 };
    await using run = running({ everyMs: 100, times: 2 }, last);
    await run.clock.advance(100);
    await run.ended;
    expect(run.ticks).toHaveLength(1);
  });

  test("fires at given times, at once if they have passed", async () => {
    const now = testClock().environment.wallTime();
    await using run = running({ at: [new Date(now - 5), new Date(now + 50)] });
    await run.clock.advance(0);
    expect(run.due()).toEqual([-5]);
    await run.clock.advance(50);
    await run.ended;
    expect(run.due()).toEqual([-5, 50]);
  });

  test("ends with its execution", async () => {
    await using run = running({ everyMs: 100 });
    run.abort.abort(new Error("cancelled"));
    await expect(run.ended).rejects.toThrow("cancelled");
  });

  test("refuses wrong options by their paths", () => {
    const at = new Date(0);
    expect(() => timer("timer", { everyMs: 0 })).toThrow("everyMs");
    expect(() => timer("timer", { everyMs: 1, times: -1 })).toThrow("times");
    expect(() => timer("timer", { everyMs: 1, at: [at] } as never)).toThrow("at");
    expect(() => timer("timer", { at: [new Date(Number.NaN)] })).toThrow("at[0]");
    expect(() => timer("timer", { at: [new Date(1), at] })).toThrow("at[1]");
    expect(() => timer("timer", { every: 1 } as never)).toThrow("every");
  });
});
