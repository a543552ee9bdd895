// Window bolts: when their function is called, what its emits are anchored to, and when tuples are acked.

import { describe, expect, test } from "vitest";
import { sliding, tumbling, type WindowPlan } from "../../../lib/topology/components/window-plan.js";
import { type WindowOptions, windowBolt } from "../../../lib/topology/components/windows.js";
import { field } from "../../../lib/topology/definition/field.js";
import type { Tuple } from "../../../lib/topology/definition/tuple.js";
import { FakeTask } from "../fake-context.js";

type Values = { readonly n: number };
type Options = Partial<WindowOptions<Record<never, never>, undefined, Tuple<Values>>>;

const input = { n: field.number };
const streams = { sums: { sum: field.number } };
const by = ({ n }: Values): number => n;
const carried = (tuples: readonly Tuple<Values>[]): string => tuples.map(({ values }) => values.n).join(" ");

/** A bolt that notes its windows, and takes numbers for tuples. */
async function noting(window: WindowPlan<Values>, options: Options = {}) {
  const windows: string[] = [];
  const task = await FakeTask.start(
    windowBolt({
      input,
      window,
      execute: ({ tuples, start, end }) => void windows.push(`${start}-${end}: ${carried(tuples)}`),
      ...options,
    }),
  );
  const numbers = (all: readonly unknown[]): string => all.map((values) => (values as Values).n).join(" ");
  return {
    task,
    windows,
    give: (...all: number[]) => {
      for (const n of all) expect(task.execute({ n })).toBeUndefined();
    },
    acked: () => numbers(task.acked),
    failed: () => numbers(task.failed),
  };
}

describe("windows by count", () => {
  test("are handed over when they are full, and acked", async () => {
    const { give, windows, acked } = await noting(tumbling({ count: 2 }));
    give(1, 2, 3);
    expect([windows, acked()]).toEqual([["0-2: 1 2"], "1 2"]);
    give(4);
    expect([windows, acked()]).toEqual([["0-2: 1 2", "2-4: 3 4"], "1 2 3 4"]);
  });

  test("that slide hold a tuple until it has slid out", async () => {
    const { give, windows, acked } = await noting(sliding({ count: 3, every: 1 }));
    give(1, 2);
    expect([windows, acked()]).toEqual([["0-1: 1", "0-2: 1 2"], ""]);
    give(3, 4);
    expect([windows.slice(2), acked()]).toEqual([["0-3: 1 2 3", "1-4: 2 3 4"], "1 2"]);
  });

  test("are flushed, and everything is acked", async () => {
    const { give, task, windows, acked } = await noting(sliding({ count: 4, every: 2 }));
    give(1, 2, 3);
    task.flush();
    expect([windows, acked()]).toEqual([["0-2: 1 2", "0-3: 1 2 3"], "1 2 3"]);
    task.flush();
    expect(windows).toHaveLength(2);
  });
});

describe("windows by the system's clock", () => {
  test("end with a tick, or with a tuple that comes first", async () => {
    const { give, task, windows, acked } = await noting(tumbling({ ms: 100 }));
    task.time = 110;
    give(1);
    task.time = 199.5;
    give(2);
    task.tick(199.9);
    expect(windows).toEqual([]);
    task.tick(200);
    expect([windows, acked()]).toEqual([["100-200: 1 2"], "1 2"]);
    give(3);
    task.time = 310;
    give(4);
    expect([windows.slice(1), acked()]).toEqual([["200-300: 3"], "1 2 3"]);
  });

  test("slide", async () => {
    const { give, task, windows, acked } = await noting(sliding({ ms: 100, everyMs: 50 }));
    task.time = 110;
    give(1);
    task.tick(155);
    expect([windows, acked()]).toEqual([["50-150: 1"], ""]);
    give(2);
    task.tick(260);
    expect([windows.slice(1), acked()]).toEqual([["100-200: 1 2", "150-250: 2"], "1 2"]);
  });

  test("are flushed in order", async () => {
    const { give, task, windows, acked } = await noting(sliding({ ms: 100, everyMs: 50 }));
    task.time = 110;
    give(1);
    task.flush();
    expect([windows, acked()]).toEqual([["50-150: 1", "100-200: 1"], "1"]);
    give(2);
    task.tick(200);
    expect([windows.slice(2), acked()]).toEqual([["50-150: 2", "100-200: 2"], "1 2"]);
  });
});

describe("windows by the time of tuples", () => {
  test("end when a tuple comes that is past their end, in whatever order the others came", async () => {
    const { give, task, windows, acked } = await noting(tumbling({ ms: 10, by }));
    task.tick(1e9);
    give(7, 3, 12);
    expect([windows, acked()]).toEqual([["0-10: 3 7"], "3 7"]);
  });

  test("wait for `lagMs` more", async () => {
    const { give, windows, acked } = await noting(tumbling({ ms: 10, by, lagMs: 5 }));
    give(7, 12, 14.9, 3);
    expect(windows).toEqual([]);
    give(15);
    expect([windows, acked()]).toEqual([["0-10: 3 7"], "3 7"]);
  });

  test("fail late tuples, and say so in the log", async () => {
    const { give, task, windows, acked, failed } = await noting(tumbling({ ms: 10, by }));
    give(5, 20, 9, 8);
    expect([windows, acked(), failed()]).toEqual([["0-10: 5"], "5", "9 8"]);
    expect(task.lines).toEqual([
      "warn: failed a tuple of source.numbers for good: it is late, as 0 were before; `late` takes such tuples",
      "warn: failed a tuple of source.numbers for good: it is late, as 1 were before; `late` takes such tuples",
    ]);
  });

  test("emit the values of late tuples on the stream that is named for them", async () => {
    const task = await FakeTask.start(
      windowBolt({
        input,
        streams: { stray: input },
        window: tumbling({ ms: 10, by }),
        execute: () => undefined,
        late: "stray",
      }),
    );
    for (const n of [5, 20, 9]) task.execute({ n });
    expect([task.acked, task.failed]).toEqual([[{ n: 5 }, { n: 9 }], []]);
    expect(task.emitted).toEqual([{ stream: "stray", values: { n: 9 }, anchors: [{ n: 9 }] }]);
  });

  test("or to `late`, whose emits join the tree of the tuple", async () => {
    const task = await FakeTask.start(
      windowBolt({
        input,
        streams,
        window: tumbling({ ms: 10, by }),
        execute: () => undefined,
        late: ({ values }, { emit }) => {
          if (values.n < 0) throw new Error("too late");
          emit.sums({ sum: values.n });
        },
      }),
    );
    for (const n of [5, -5, 20, 9, -1, 21]) task.execute({ n });
    expect([task.acked, task.failed]).toEqual([[{ n: -5 }, { n: 5 }, { n: 9 }], [{ n: -1 }]]);
    expect(task.emitted).toEqual([{ stream: "sums", values: { sum: 9 }, anchors: [{ n: 9 }] }]);
    expect(task.lines).toEqual(["error: work on 1 tuples failed: Error: too late"]);
  });

  test("fail a tuple that has no time", async () => {
    const { give, task, failed, windows } = await noting(
      tumbling({
        ms: 10,
        by: ({ n }) => {
          if (n === 3) throw new Error("no time");
          return n;
        },
      }),
    );
    give(Number.NaN, 1e300, Number.POSITIVE_INFINITY, 3, 4);
    expect(failed()).toBe("NaN 1e+300 Infinity 3");
    expect(task.lines[0]).toBe(
      "error: a tuple has no time: OptionError: the result of `by` must be a number of milliseconds that a Date could have; got NaN",
    );
    expect(task.lines[3]).toBe("error: a tuple has no time: Error: no time");
    task.flush();
    expect(windows).toEqual(["0-10: 4"]);
  });
});

describe("what is held", () => {
  test("is no more than `maxHeld`: the next tuple fails, for its spout to try again", async () => {
    const { give, task, windows, acked, failed } = await noting(tumbling({ ms: 100 }), { maxHeld: 2 });
    give(1, 2, 3);
    expect([acked(), failed()]).toEqual(["", "3"]);
    expect(task.lines).toEqual(["warn: a tuple was failed: 2 are held already, which is `maxHeld`"]);
    task.tick(100);
    give(4);
    expect([windows, acked(), failed()]).toEqual([["0-100: 1 2"], "1 2", "3"]);
  });

  test("moves on with a tuple that there was no room for", async () => {
    const { give, windows, acked, failed } = await noting(tumbling({ ms: 10, by, lagMs: 10 }), {
      maxHeld: 2,
    });
    give(1, 2, 15);
    expect([windows, failed()]).toEqual([[], "15"]);
    give(20);
    expect([windows, acked(), failed()]).toEqual([["0-10: 1 2"], "1 2", "15"]);
  });
});

describe("the work on a window", () => {
  test("emits anchored to all of its tuples, also those that later windows have", async () => {
    const task = await FakeTask.start(
      windowBolt({
        input,
        streams,
        window: sliding({ count: 2, every: 1 }),
        execute: ({ tuples }, { emit }) => emit.sums({ sum: tuples.length }),
      }),
    );
    task.execute({ n: 1 });
    task.execute({ n: 2 });
    expect(task.emitted.map(({ anchors }) => anchors)).toEqual([[{ n: 1 }], [{ n: 1 }, { n: 2 }]]);
  });

  test("that throws is done again, and what comes meanwhile waits", async () => {
    const windows: string[] = [];
    let throws = 2;
    const { give, task, acked, failed } = await noting(tumbling({ count: 2 }), {
      execute: ({ tuples }) => {
        windows.push(carried(tuples));
        if (throws-- > 0) throw new Error("not yet");
      },
    });
    give(1, 2, 3, 4);
    expect([windows, acked()]).toEqual([["1 2"], ""]);
    task.fire();
    task.fire();
    expect([windows, acked(), failed()]).toEqual([["1 2", "1 2", "1 2", "3 4"], "1 2 3 4", ""]);
  });

  test("that throws for good fails all of its tuples: no later window has them", async () => {
    const windows: string[] = [];
    const { give, task, acked, failed } = await noting(sliding({ count: 3, every: 1 }), {
      retries: 0,
      execute: ({ tuples, added, removed }) => {
        windows.push([tuples, added, removed].map(carried).join(" | "));
        if (tuples.some(({ values }) => values.n === 2)) throw new Error("no 2, please");
      },
    });
    give(1, 2, 3, 4);
    expect(windows).toEqual(["1 | 1 | ", "1 2 | 2 | ", "3 | 3 | 1", "3 4 | 4 | "]);
    expect([acked(), failed()]).toEqual(["", "1 2"]);
    expect(task.lines).toEqual(["error: work on 2 tuples failed: Error: no 2, please"]);
    task.flush();
    expect(acked()).toBe("3 4");
  });

  test("may settle a tuple itself, which is then in no later window", async () => {
    const windows: string[] = [];
    const { give, task, acked, failed } = await noting(sliding({ count: 3, every: 1 }), {
      retries: 0,
      execute: ({ tuples }, ctx) => {
        windows.push(carried(tuples));
        for (const tuple of tuples) {
          if (tuple.values.n === 2) ctx.fail(tuple);
          if (tuple.values.n === 3) ctx.ack(tuple);
          if (tuple.values.n === 4) throw new Error("no 4, please");
        }
      },
    });
    give(1, 2, 3, 4, 5);
    task.flush();
    expect(windows).toEqual(["1", "1 2", "1 3", "4", "5"]);
    expect([acked(), failed()]).toEqual(["3 1 5", "2 4"]);
  });

  test("is awaited, window after window, and the tuple that made them due is taken after them", async () => {
    const log: string[] = [];
    const { task, acked } = await noting(sliding({ ms: 10, everyMs: 5, by }), {
      retries: 0,
      execute: async ({ start, tuples }) => {
        log.push(`from ${start}: ${carried(tuples)}`);
        await Promise.resolve();
        log.push(`acked ${acked()}`);
        if (start === 0) throw new Error("rejected");
      },
    });
    task.execute({ n: 3 });
    await task.execute({ n: 7 });
    log.push("next");
    await task.execute({ n: 16 });
    expect(log).toEqual(["from -5: 3", "acked ", "next", "from 0: 3 7", "acked "]);
    await task.flush();
    expect(log.slice(5)).toEqual(["from 10: 16", "acked ", "from 15: 16", "acked "]);
    expect([task.acked, task.failed]).toEqual([[{ n: 16 }], [{ n: 3 }, { n: 7 }]]);
  });

  test("is the last when the task ends meanwhile: no window follows, and nothing is settled", async () => {
    const starts: number[] = [];
    const { task } = await noting(sliding({ ms: 10, everyMs: 5, by, lagMs: 20 }), {
      execute: async ({ start }) => {
        starts.push(start);
        task.alive = false;
      },
    });
    task.execute({ n: 3 });
    await task.execute({ n: 50 });
    expect(starts).toEqual([-5]);
    expect([task.acked, task.failed, task.lines]).toEqual([[], [], []]);
  });

  test("has the state and the tuples of its bolt, and may read several streams", async () => {
    const task = await FakeTask.start(
      windowBolt({
        inputs: {
          numbers: { n: field.number, at: field.number },
          words: { word: field.text, at: field.number },
        },
        streams,
        window: tumbling({ ms: 10, by: ({ at }: { at: number }) => at }),
        init: () => ({ words: 0 }),
        execute: ({ tuples }, { state, emit }) => {
          for (const tuple of tuples) if (tuple.stream === "words") state.words += tuple.values.word.length;
          emit.sums({ sum: state.words });
        },
        close: ({ state }) => {
          state.words = -1;
        },
      }),
    );
    task.execute({ n: 1, at: 3 });
    task.execute({ word: "four", at: 5 }, "words");
    task.execute({ word: "two", at: 11 }, "words");
    task.flush();
    task.hook("close");
    expect(task.emitted.map(({ values }) => values)).toEqual([{ sum: 4 }, { sum: 7 }]);
  });
});

describe("options", () => {
  const execute = () => undefined;
  const window = tumbling({ count: 2 });
  const timed = tumbling({ ms: 10, by });

  test("must have a `by` that takes what the tuples carry", () => {
    const other = tumbling({ ms: 10, by: ({ at }: { at: number }) => at });
    // @ts-expect-error: the tuples carry no `at`.
    expect(windowBolt({ input, window: other, execute }).kind).toBe("bolt");
    expect(windowBolt({ input: { ...input, at: field.number }, window: other, execute }).kind).toBe("bolt");
  });

  test("by the clock make it look four times in each slide, at least once a second", () => {
    const tick = (window: WindowPlan<Values>, config = {}) =>
      windowBolt({ input, window, config, execute }).options.config?.tickMs;
    expect(tick(tumbling({ ms: 100 }))).toBe(25);
    expect(tick(sliding({ ms: 60_000, everyMs: 2_000 }))).toBe(500);
    expect(tick(tumbling({ ms: 60_000 }))).toBe(1_000);
    expect(tick(tumbling({ ms: 60_000 }), { tickMs: 5_000 })).toBe(5_000);
    expect([tick(window), tick(tumbling({ ms: 100, by }))]).toEqual([undefined, undefined]);
    const { options } = windowBolt({ input, window, execute });
    expect([options.mode, options.tick]).toEqual(["manual", undefined]);
  });

  test.each([
    [null, "tumbling(options) must be an object; got null"],
    [{}, "tumbling(options) must be given either `count` or `ms`"],
    [{ count: 1, ms: 1 }, "tumbling(options) must be given either `count` or `ms`"],
    [{ count: 0 }, "tumbling(options).count must be a whole number, 1 or more; got 0"],
    [{ ms: 0.5 }, "tumbling(options).ms must be a whole number, 1 or more; got 0.5"],
    [{ count: 1, by }, "tumbling(options).by must be a function, for windows of `ms`; got function by"],
    [{ ms: 1, by: "at" }, 'tumbling(options).by must be a function, for windows of `ms`; got "at"'],
    [{ ms: 1, lagMs: 1 }, "tumbling(options).lagMs must be left out without `by`"],
    [{ ms: 1, by, lagMs: -1 }, "tumbling(options).lagMs must be a number of milliseconds, 0 or more; got -1"],
  ])("of tumbling windows are checked: %j", (options, text) => {
    expect(() => tumbling(options as never)).toThrow(text);
  });

  test.each([
    [undefined, "sliding(options).every must be given; got undefined"],
    [{ count: 2 }, "sliding(options).every must be given; got undefined"],
    [{ ms: 2, every: 1 }, "sliding(options).everyMs must be given; got undefined"],
    [{ count: 2, every: 0 }, "sliding(options).every must be a whole number, 1 or more; got 0"],
    [
      { ms: 2, everyMs: 3 },
      "sliding(options).everyMs must be at most 2, or some tuples would be in no window; got 3",
    ],
  ])("of sliding windows are checked: %j", (options, text) => {
    expect(() => sliding(options as never)).toThrow(text);
  });

  test.each([
    [null, "windowBolt(options) must be an object; got null"],
    [{ input, window }, "execute must be a function; got undefined"],
    [{ input, execute }, "window must be made by `tumbling` or `sliding`; got undefined"],
    [{ input, window: { ms: 5 }, execute }, 'window must be made by `tumbling` or `sliding`; got {"ms":5}'],
    [{ input, window, maxHeld: 1, execute }, "maxHeld must be at least 2, the size of a window; got 1"],
    [{ input, window, maxHeld: 0, execute }, "maxHeld must be a whole number, 1 or more; got 0"],
    [{ input, window, late: execute, execute }, "late must be left out: only windows of time with `by`"],
    [{ input, window: timed, late: 5, execute }, "late must be a function, or one of its streams; got 5"],
    [
      { input, window: timed, late: "stray", streams, execute },
      'late must be a function, or one of its streams: sums; got "stray"',
    ],
    [
      { input, window: timed, late: "sums", streams, execute },
      'streams.sums.sum must be a field that every tuple of its input carries; got "sum"',
    ],
    [{ input, window, retries: -1, execute }, "retries must be a whole number, 0 or more"],
    [{ input, window, retryBackoff: { minMs: 0, maxMs: 1 }, execute }, "retryBackoff.minMs must be"],
    [
      { window, execute },
      'windowBolt(options) must be given either `input` or `inputs`; got ["window","execute"]',
    ],
  ])("of window bolts are checked: %j", (options, text) => {
    expect(() => windowBolt(options as never)).toThrow(text);
  });
});
