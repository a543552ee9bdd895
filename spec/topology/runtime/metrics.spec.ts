// What tasks count and how it is summed up: by examples, then latencies and capacity against every number written down.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { METRICS_WINDOW_MS } from "../../../lib/topology/runtime/latency.js";
import { componentMetrics, TaskMeter } from "../../../lib/topology/runtime/metrics.js";

const MINUTE = 60_000;
const lines = { name: "lines", kind: "spout", tasks: 2, executors: 1 } as const;
const split = { name: "split", kind: "bolt", tasks: 2, executors: 2 } as const;

/** A task of `split` that executed `executed` tuples, one after the other and each measured, from `from` to `to`. */
function work(meter: TaskMeter, executed: number, ms: number, from: number, to: number): void {
  const input = meter.input("lines.text");
  for (let i = 1; i <= executed; i++) {
    input.executed++;
    input.execute.record(ms, from + ((to - from) * i) / executed);
  }
}

describe("the metrics of a component", () => {
  test("are the sums over its tasks, by stream and in all", () => {
    const meters = [new TaskMeter(0), new TaskMeter(0)];
    for (const meter of meters) {
      Object.assign(meter.stream("text"), { emitted: 10, acked: 6, failed: 2, expired: 1 });
      Object.assign(meter, { lost: 1, dead: 2, errors: 3, restarts: 4, pending: 5, waiting: 6 });
    }
    (meters[0] as TaskMeter).stream("dead").emitted++;
    const metrics = componentMetrics(lines, meters, 1_000);
    expect(metrics).toMatchObject(lines);
    expect(metrics).toMatchObject({ emitted: 21, acked: 12, failed: 4, expired: 2 });
    expect(metrics).toMatchObject({ lost: 2, dead: 4, errors: 6, restarts: 8, pending: 10, waiting: 12 });
    expect(metrics.streams).toEqual({
      text: { emitted: 20, acked: 12, failed: 4, expired: 2, completeLatency: undefined },
      dead: { emitted: 1, acked: 0, failed: 0, expired: 0, completeLatency: undefined },
    });
    expect(metrics.inputs).toEqual({});
  });

  test("of a bolt count its tuples of each stream that it reads", () => {
    const meter = new TaskMeter(0);
    Object.assign(meter.input("lines.text"), { executed: 7, acked: 5, failed: 1 });
    Object.assign(meter.input("other.text"), { executed: 3, acked: 3 });
    meter.input("lines.text").process.record(4, 500);
    meter.input("other.text").process.record(2, 500);
    const metrics = componentMetrics(split, [meter], 1_000);
    expect(metrics).toMatchObject({ executed: 10, acked: 8, failed: 1, emitted: 0 });
    expect(metrics.processLatency).toMatchObject({ meanMs: 3, maxMs: 4, samples: 2 });
    expect(metrics.inputs["lines.text"]).toMatchObject({
      executed: 7,
      processLatency: { meanMs: 4, samples: 1 },
    });
    expect(metrics.executeLatency).toBeUndefined();
  });

  test("take any name for a stream's", () => {
    const meter = new TaskMeter(0);
    meter.stream("__proto__").emitted++;
    const { streams } = componentMetrics(lines, [meter], 0);
    expect(Object.entries(streams).map(([name, { emitted }]) => [name, emitted])).toEqual([["__proto__", 1]]);
  });

  test("a meter is made once for each name", () => {
    const meter = new TaskMeter(0);
    expect(meter.stream("text")).toBe(meter.stream("text"));
    expect(meter.input("lines.text")).toBe(meter.input("lines.text"));
  });
});

describe("a latency", () => {
  test("is known by mean, percentiles and maximum", () => {
    const meter = new TaskMeter(0);
    for (let ms = 1; ms <= 100; ms++) meter.stream("text").latency.record(ms, 1_000);
    const latency = componentMetrics(lines, [meter], 1_000).completeLatency;
    expect(latency).toMatchObject({ meanMs: 50.5, maxMs: 100, samples: 100 });
    expect(Math.abs((latency?.p50Ms ?? 0) / 50 - 1)).toBeLessThan(0.091);
    expect(Math.abs((latency?.p99Ms ?? 0) / 99 - 1)).toBeLessThan(0.091);
  });

  test("leaves the window after ten minutes, but stays in the figures since the start", () => {
    const meter = new TaskMeter(0);
    meter.stream("text").latency.record(5, MINUTE);
    expect(componentMetrics(lines, [meter], METRICS_WINDOW_MS).completeLatency?.samples).toBe(1);
    expect(componentMetrics(lines, [meter], MINUTE + METRICS_WINDOW_MS).completeLatency).toBeUndefined();
    expect(componentMetrics(lines, [meter], MINUTE + METRICS_WINDOW_MS, "all").completeLatency?.meanMs).toBe(
      5,
    );
  });

  test("of no time at all is nothing, as in virtual time", () => {
    const meter = new TaskMeter(0);
    meter.stream("text").latency.record(0, 0);
    expect(componentMetrics(lines, [meter], 0).completeLatency).toEqual({
      ...{ meanMs: 0, p50Ms: 0, p99Ms: 0, maxMs: 0, samples: 1 },
    });
  });

  test("is not spoilt by a clock that was set back", () => {
    const meter = new TaskMeter(0);
    meter.stream("text").latency.record(-50, 1_000);
    meter.stream("text").latency.record(Number.NaN, 1_000);
    expect(componentMetrics(lines, [meter], 1_000).completeLatency).toMatchObject({ meanMs: 0, samples: 2 });
  });

  test("may be longer than the buckets reach", () => {
    const meter = new TaskMeter(0);
    meter.stream("text").latency.record(1e12, 0);
    expect(componentMetrics(lines, [meter], 0).completeLatency).toMatchObject({ p50Ms: 1e12, maxMs: 1e12 });
  });

  const SLOT = 5;
  const WINDOW = 20 * SLOT;
  const durations = fc.array(
    fc.record({
      task: fc.integer({ min: 0, max: 2 }),
      // Doubles are mostly extreme ones: these go through the buckets evenly.
      ms: fc.oneof(
        fc.integer({ min: -120, max: 300 }).map((power) => 1.1 ** power),
        fc.double({ min: 0, max: 1e9, noNaN: true }),
      ),
      wait: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 250 })),
    }),
    { maxLength: 60 },
  );

  property.prop([durations, fc.integer({ min: 0, max: 150 })])(
    "of several tasks is what a list of all durations says",
    (taken, after) => {
      const meters = [0, 0, 0].map((startedAt) => new TaskMeter(startedAt, WINDOW));
      let now = 0;
      const list: { ms: number; at: number }[] = [];
      for (const { task, ms, wait } of taken) {
        now += wait;
        list.push({ ms, at: now });
        (meters[task] as TaskMeter).stream("text").latency.record(ms, now);
      }
      now += after;
      // The slot at hand and the nineteen before it.
      const inWindow = list.filter(({ at }) => Math.trunc(at / SLOT) > Math.trunc(now / SLOT) - 20);
      for (const [over, expected] of [["window", inWindow] as const, ["all", list] as const]) {
        const latency = componentMetrics(lines, meters, now, over).completeLatency;
        const sorted = expected.map(({ ms }) => ms).sort((a, b) => a - b);
        expect(latency?.samples ?? 0).toBe(sorted.length);
        if (latency === undefined) continue;
        expect(latency.maxMs).toBe(sorted.at(-1));
        const sum = sorted.reduce((before, ms) => before + ms, 0);
        expect(latency.meanMs).toBeCloseTo(sum / sorted.length, 3);
        for (const [share, estimate] of [[0.5, latency.p50Ms] as const, [0.99, latency.p99Ms] as const]) {
          const exact = sorted[Math.ceil(share * sorted.length) - 1] as number;
          expect(estimate).toBeLessThanOrEqual(latency.maxMs);
          // Above the last bucket all that is known is the maximum.
          if (exact >= 2 ** 24) expect(estimate).toBe(latency.maxMs);
          else expect(Math.abs(estimate - exact)).toBeLessThanOrEqual(Math.max(0.091 * exact, 2 ** -10));
        }
      }
    },
  );
});

describe("capacity", () => {
  const capacity = (meters: readonly TaskMeter[], now: number): number | undefined =>
    componentMetrics(split, meters, now).capacity;

  test("is the share of the time that a task is at work", () => {
    const meter = new TaskMeter(0);
    work(meter, 900, 100, 0, 2 * MINUTE);
    expect(capacity([meter], 2 * MINUTE)).toBeCloseTo(0.75, 10);
  });

  test("goes by the start of the task until it is older than the window", () => {
    const meter = new TaskMeter(5 * MINUTE);
    work(meter, 300, 100, 5 * MINUTE, 6 * MINUTE);
    expect(capacity([meter], 6 * MINUTE)).toBeCloseTo(0.5, 10);
  });

  test("looks at the last ten minutes only", () => {
    const meter = new TaskMeter(0);
    work(meter, 6_000, 100, 0, 10 * MINUTE);
    expect(capacity([meter], 10 * MINUTE)).toBeGreaterThan(0.99);
    work(meter, 600, 100, 10 * MINUTE, 20 * MINUTE);
    expect(capacity([meter], 20 * MINUTE)).toBeCloseTo(0.1, 2);
    expect(componentMetrics(split, [meter], 20 * MINUTE, "all").capacity).toBeCloseTo(0.55, 10);
    expect(capacity([meter], 40 * MINUTE)).toBe(0);
  });

  test("of a task that reads several streams is the work on all of them", () => {
    const meter = new TaskMeter(0);
    work(meter, 300, 100, 0, MINUTE);
    meter.input("other.text").executed = 150;
    meter.input("other.text").execute.record(100, MINUTE);
    expect(capacity([meter], MINUTE)).toBeCloseTo(0.75, 10);
  });

  test("is that of the busiest task", () => {
    const meters = [100, 550, 300].map((executed) => {
      const meter = new TaskMeter(0);
      work(meter, executed, 100, 0, MINUTE);
      return meter;
    });
    expect(capacity(meters, MINUTE)).toBeCloseTo(550 / 600, 10);
  });

  test("is nothing for a task that did nothing, and unknown for one of which nothing was measured", () => {
    const idle = new TaskMeter(0);
    idle.input("lines.text");
    expect(capacity([new TaskMeter(0)], MINUTE)).toBe(0);
    expect(capacity([idle], MINUTE)).toBe(0);
    const unmeasured = new TaskMeter(0);
    unmeasured.input("lines.text").executed = 10;
    expect(capacity([unmeasured], MINUTE)).toBeUndefined();
    expect(capacity([unmeasured, idle], MINUTE)).toBe(0);
    expect(capacity([], MINUTE)).toBeUndefined();
  });

  test("is nothing when no time has passed", () => {
    const meter = new TaskMeter(0);
    work(meter, 10, 0, 0, 0);
    expect(capacity([meter], 0)).toBe(0);
  });

  test("is asked of bolts only", () => {
    const meter = new TaskMeter(0);
    expect(componentMetrics(lines, [meter], MINUTE).capacity).toBeUndefined();
    expect(componentMetrics({ ...split, kind: "acker" }, [meter], MINUTE).capacity).toBeUndefined();
  });

  // Every tuple takes 1 ms; one of `each` is measured. The count in the window is off by one round of sampling at most.
  property.prop([
    fc.integer({ min: 1, max: 7 }),
    fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 200 }),
    fc.integer({ min: 0, max: 60 }),
  ])("counts too many by no more than are executed between two samples", (each, waits, after) => {
    const [slot, window] = [10, 200];
    const meter = new TaskMeter(0, window);
    const input = meter.input("lines.text");
    const times: number[] = [];
    let now = 0;
    for (const wait of waits) {
      now += wait;
      times.push(now);
      input.executed++;
      if (input.executed % each === 0) input.execute.record(1, now);
    }
    now += after;
    const found = capacity([meter], now);
    if (times.length < each) {
      expect(found).toBeUndefined();
      return;
    }
    const begin = Math.max(0, (Math.trunc(now / slot) - 19) * slot);
    const exact = times.filter((at) => at >= begin).length;
    const counted = (found as number) * (now - begin);
    expect(counted).toBeGreaterThan(exact - each);
    expect(counted).toBeLessThan(exact + each);
  });

  test("and looking changes nothing", () => {
    const meter = new TaskMeter(0);
    work(meter, 50, 10, 0, MINUTE);
    const first = componentMetrics(split, [meter], 15 * MINUTE);
    expect(componentMetrics(split, [meter], MINUTE).executeLatency?.samples).toBe(50);
    expect(componentMetrics(split, [meter], 15 * MINUTE)).toEqual(first);
  });
});
