// Tables of windows: by examples, then against naive models that keep every item with the list of its windows.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { CountWindows } from "../../../lib/topology/components/window-count.js";
import { WindowLog } from "../../../lib/topology/components/window-log.js";
import type { WindowTable, WindowView } from "../../../lib/topology/components/window-table.js";
import { TimeWindows } from "../../../lib/topology/components/window-time.js";

/** What is due, each done at once: the items of the window and, after a bar, those that are let go. */
function due<T>(machine: WindowTable<T>): string[] {
  const shown: string[] = [];
  for (let view = machine.next(); view !== undefined; view = machine.next())
    shown.push(`${view.start}-${view.end}: ${view.tuples.join(" ")} | ${machine.done().join(" ")}`.trim());
  return shown;
}

function time(ms: number, every = ms, maxHeld = 100) {
  const machine = new TimeWindows<string>({ ms, everyMs: every, maxHeld });
  return {
    machine,
    /** Items named for their times. */
    add: (...times: number[]) => times.map((at) => machine.add(at, `t${at}`)),
    tick: (at: number) => {
      machine.tick(at);
      return due(machine);
    },
    flush: () => {
      machine.flush();
      return [due(machine), machine.clear()];
    },
  };
}

function counted(count: number, every = count) {
  const machine = new CountWindows<number>({ count, every });
  return {
    machine,
    add: (...items: number[]) =>
      items.flatMap((item) => {
        machine.add(0, item);
        return due(machine);
      }),
    flush: () => {
      machine.flush();
      return [due(machine), machine.clear()];
    },
  };
}

describe("tumbling windows of time", () => {
  test("are handed over when time has come to their end, and let all of their items go", () => {
    const { add, tick, machine } = time(10);
    add(1, 9.5, 10);
    expect(tick(9.9)).toEqual([]);
    expect(machine.held).toBe(3);
    expect(tick(10)).toEqual(["0-10: t1 t9.5 | t1 t9.5"]);
    expect(tick(25)).toEqual(["10-20: t10 | t10"]);
    expect(machine.held).toBe(0);
  });

  test("begin at multiples of their length, below zero too", () => {
    const { add, tick } = time(10);
    add(-10, -0.5, -11, 0, 9);
    expect(tick(100)).toEqual([
      "-20--10: t-11 | t-11",
      "-10-0: t-10 t-0.5 | t-10 t-0.5",
      "0-10: t0 t9 | t0 t9",
    ]);
  });

  test("hold a time however close it is to their bounds", () => {
    const { add, tick } = time(10, 5);
    add(-1e-20);
    expect(tick(99)).toEqual(["-10-0: t-1e-20 |", "-5-5: t-1e-20 | t-1e-20"]);
  });

  test("have their items in the order of times, and equal ones as they came", () => {
    const machine = new TimeWindows<string>({ ms: 10, everyMs: 10, maxHeld: 9 });
    for (const [at, item] of [
      [5, "a"],
      [3, "b"],
      [5, "c"],
      [3.5, "d"],
      [3, "e"],
    ] as const)
      machine.add(at, item);
    machine.tick(10);
    expect(machine.next()?.tuples).toEqual(["b", "e", "d", "a", "c"]);
  });

  test("that are empty are passed over, however many: a gap of years is one step", () => {
    const { add, tick } = time(1);
    add(0, 1e12);
    expect(tick(1e15)).toEqual([
      "0-1: t0 | t0",
      "1000000000000-1000000000001: t1000000000000 | t1000000000000",
    ]);
  });

  test("take nothing when they have been handed over: it is late", () => {
    const { add, tick, machine } = time(10);
    add(15);
    tick(20);
    expect(add(19, 20)).toEqual(["late", "held"]);
    expect(machine.held).toBe(1);
  });

  test("take what comes after their end as long as they have not been handed over, and are due at once", () => {
    const { add, tick } = time(10);
    add(25);
    tick(30);
    expect(add(19)).toEqual(["held"]);
    expect(tick(30)).toEqual(["10-20: t19 | t19"]);
    expect(add(19, 5)).toEqual(["late", "held"]);
  });

  test("are not moved by a time that goes back", () => {
    const { add, tick } = time(10);
    tick(20);
    expect(tick(5)).toEqual([]);
    add(19);
    expect(tick(5)).toEqual(["10-20: t19 | t19"]);
  });

  test("that end after a limit are not due, also when they are flushed", () => {
    const { add, machine } = time(10);
    add(5, 15);
    machine.tick(30);
    expect(machine.next(9)).toBeUndefined();
    expect(machine.next(10)?.end).toBe(10);
    machine.done();
    expect(machine.next(10)).toBeUndefined();
    machine.flush();
    expect(machine.next(10)).toBeUndefined();
    expect(machine.next(20)?.end).toBe(20);
  });

  test("that could not be worked on are due again, with what has come meanwhile", () => {
    const { add, tick, machine } = time(10);
    add(5, 7);
    machine.tick(10);
    expect(machine.next()?.tuples).toEqual(["t5", "t7"]);
    machine.again(new Set(["t5"]));
    add(6);
    expect(tick(10)).toEqual(["0-10: t6 t7 | t6 t7"]);
  });

  test("know what an earlier machine with the same log has handed over", () => {
    const log = new WindowLog(10);
    const before = new TimeWindows<string>({ ms: 10, everyMs: 10, maxHeld: 9, log });
    before.add(5, "a");
    before.add(15, "b");
    before.tick(10);
    before.next();
    before.done();
    const after = new TimeWindows<string>({ ms: 10, everyMs: 10, maxHeld: 9, log });
    expect([after.add(5, "a"), after.add(15, "b")]).toEqual(["late", "held"]);
  });

  test("put an item in the place of another of the same time", () => {
    const { add, tick, machine } = time(10);
    add(5, 7);
    expect(machine.replace(7, (item) => item === "t7", "again")).toBe("t7");
    expect(machine.replace(7, (item) => item === "t7", "again")).toBeUndefined();
    expect(machine.has(7, (item) => item === "again")).toBe(true);
    expect(tick(10)).toEqual(["0-10: t5 again | t5 again"]);
  });

  test("have room for an item that was held before", () => {
    const { machine } = time(10, 10, 1);
    machine.add(1, "a");
    expect([machine.add(2, "b"), machine.add(3, "c", true)]).toEqual(["full", "held"]);
  });

  test("hold so much and no more; what is over makes room", () => {
    const { add, tick } = time(10, 10, 2);
    expect(add(1, 2, 3, 11)).toEqual(["held", "held", "full", "full"]);
    tick(10);
    expect(add(11, 3)).toEqual(["held", "late"]);
  });

  test("are all handed over by a flush, and begin again after it", () => {
    const { add, tick, flush, machine } = time(10);
    add(1);
    tick(10);
    add(11, 25);
    expect(flush()).toEqual([["10-20: t11 | t11", "20-30: t25 | t25"], []]);
    expect(machine.held).toBe(0);
    expect(add(9, 12)).toEqual(["late", "held"]);
    expect(tick(20)).toEqual(["10-20: t12 | t12"]);
  });
});

describe("sliding windows of time", () => {
  test("let an item go with the last window that holds it [O21]", () => {
    const { add, tick } = time(10, 5);
    add(3, 7, 12);
    expect(tick(5)).toEqual(["-5-5: t3 |"]);
    expect(tick(20)).toEqual(["0-10: t3 t7 | t3", "5-15: t7 t12 | t7", "10-20: t12 | t12"]);
  });

  test("have an item that comes late in those that are still open", () => {
    const { add, tick } = time(10, 5);
    add(3);
    tick(10);
    expect(add(4, 7)).toEqual(["late", "held"]);
    expect(tick(15)).toEqual(["5-15: t7 | t7"]);
  });

  test("may be no multiple of their slide", () => {
    const { add, tick } = time(5, 3);
    add(3, 4, 5);
    expect(tick(99)).toEqual(["0-5: t3 t4 |", "3-8: t3 t4 t5 | t3 t4 t5"]);
  });

  test("are all handed over by a flush, with what is there", () => {
    const { add, flush } = time(10, 5);
    add(3, 7);
    expect(flush()).toEqual([["-5-5: t3 |", "0-10: t3 t7 | t3", "5-15: t7 | t7"], []]);
  });
});

describe("windows by count", () => {
  test("that tumble are full, and let all go", () => {
    const { add } = counted(3);
    expect(add(1, 2, 3, 4, 5, 6)).toEqual(["0-3: 1 2 3 | 1 2 3", "3-6: 4 5 6 | 4 5 6"]);
  });

  test("that slide have the last so many, and fewer at the beginning", () => {
    const { add } = counted(4, 2);
    expect(add(1, 2, 3, 4, 5, 6)).toEqual(["0-2: 1 2 |", "0-4: 1 2 3 4 | 1 2", "2-6: 3 4 5 6 | 3 4"]);
  });

  test("need not be a multiple of their slide", () => {
    const { add } = counted(3, 2);
    expect(add(1, 2, 3, 4, 5, 6)).toEqual(["0-2: 1 2 | 1", "1-4: 2 3 4 | 2 3", "3-6: 4 5 6 | 4 5"]);
  });

  test("are flushed as one last window when there is something new, and let the rest go", () => {
    const { add, flush, machine } = counted(4, 2);
    expect(add(1, 2, 3)).toEqual(["0-2: 1 2 |"]);
    expect(flush()).toEqual([["0-3: 1 2 3 | 1"], [2, 3]]);
    expect(machine.held).toBe(0);
    expect(add(4, 5, 6)).toEqual(["3-5: 4 5 |"]);
    expect(flush()).toEqual([["3-6: 4 5 6 | 4"], [5, 6]]);
    expect(add(7, 8)).toEqual(["6-8: 7 8 |"]);
    expect(flush()).toEqual([[], [7, 8]]);
    expect(flush()).toEqual([[], []]);
  });
});

test("a machine that is cleared begins anew, whatever was open", () => {
  const { add, machine } = counted(3, 2);
  add(1, 2, 3);
  expect(machine.clear()).toEqual([2, 3]);
  expect(add(4, 5)).toEqual(["3-5: 4 5 | 4"]);
});

describe("what is new in a window", () => {
  const changes = ({ added, removed }: WindowView<number>) => [added, removed];

  test("is told, and what is no longer in it", () => {
    const { machine } = counted(3, 2);
    const seen: unknown[] = [];
    for (const item of [1, 2, 3, 4, 5, 6]) {
      machine.add(0, item);
      const view = machine.next();
      if (view === undefined) continue;
      seen.push(changes(view));
      machine.done();
    }
    expect(seen).toEqual([
      [[1, 2], []],
      [[3, 4], [1]],
      [
        [5, 6],
        [2, 3],
      ],
    ]);
  });

  test("is counted from the last window that was done: one that failed had never been, and its items are gone", () => {
    const { machine } = counted(3, 1);
    machine.add(0, 1);
    machine.next();
    machine.done();
    machine.add(0, 2);
    machine.next();
    expect(machine.failed()).toEqual([1, 2]);
    machine.add(0, 3);
    const view = machine.next() as WindowView<number>;
    expect([view.tuples, ...changes(view)]).toEqual([[3], [3], [1]]);
  });

  test("goes on over a flush", () => {
    const { add, flush, machine } = counted(2, 1);
    add(1);
    flush();
    machine.add(0, 2);
    expect(changes(machine.next() as WindowView<number>)).toEqual([[2], [1]]);
  });

  test("has nothing of an item that was settled: no later window has it, and it is let go untold", () => {
    const { machine } = counted(3, 1);
    machine.add(0, 1);
    machine.next();
    expect(machine.done(new Set([1]))).toEqual([]);
    expect(machine.held).toBe(0);
    machine.add(0, 2);
    const view = machine.next() as WindowView<number>;
    expect([view.tuples, ...changes(view)]).toEqual([[2], [2], [1]]);
  });
});

// ── naive models
// ────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * How the work on a window ends: it fails, or some of its items (by their places in it) are settled by the
 * worker.
 */
type Ending = { readonly fails: boolean; readonly settles: readonly number[] };
type Step =
  | { readonly type: "add"; readonly at: number }
  | { readonly type: "tick"; readonly at: number }
  | { readonly type: "flush" };

/** All that can be seen of a machine, as texts: items are called by the number of their step. */
type History = string[];

const shown = (kind: string, items: readonly number[]): string => `${kind} ${items.join(" ")}`.trim();
const settledOf = (tuples: readonly number[], ending: Ending): number[] =>
  tuples.filter((_, place) => ending.settles.includes(place));
const endingOf = (endings: readonly Ending[], window: number): Ending =>
  endings[window % endings.length] as Ending;

function historyOf(
  machine: WindowTable<number>,
  steps: readonly Step[],
  endings: readonly Ending[],
): History {
  const history: History = [];
  let windows = 0;
  const takeDue = (): void => {
    for (let view = machine.next(); view !== undefined; view = machine.next()) {
      const ending = endingOf(endings, windows++);
      history.push(shown(`${view.start}-${view.end}:`, view.tuples));
      history.push(shown("added", view.added), shown("removed", view.removed));
      if (ending.fails) history.push(shown("failed", machine.failed()));
      else history.push(shown("done", machine.done(new Set(settledOf(view.tuples, ending)))));
    }
  };
  steps.forEach((step, id) => {
    if (step.type === "add") {
      history.push(machine.add(step.at, id));
      takeDue();
    } else if (step.type === "tick") {
      machine.tick(step.at);
      takeDue();
    } else {
      machine.flush();
      takeDue();
      history.push(shown("cleared", machine.clear()));
    }
    history.push(`holds ${machine.held}`);
  });
  return history;
}

/** What both models share: working on a window that they have found, as the histories tell of it. */
class Worker {
  readonly history: History = [];
  /** Items that failed or were settled: no window has them any more. */
  readonly gone = new Set<number>();
  private last: readonly number[] = [];
  private windows = 0;
  private readonly endings: readonly Ending[];

  constructor(endings: readonly Ending[]) {
    this.endings = endings;
  }

  /** Whether it was worked on. @param over - which of the items are in no later window */
  work(start: number, end: number, ids: readonly number[], over: (id: number) => boolean): boolean {
    const { last, history, gone } = this;
    const added = ids.filter((id) => !last.includes(id));
    const removed = last.filter((id) => !ids.includes(id));
    history.push(shown(`${start}-${end}:`, ids), shown("added", added), shown("removed", removed));
    const ending = endingOf(this.endings, this.windows++);
    const settled = ending.fails ? ids : settledOf(ids, ending);
    for (const id of settled) gone.add(id);
    if (ending.fails) history.push(shown("failed", ids));
    else {
      this.last = ids;
      const released = ids.filter((id) => !gone.has(id) && over(id));
      for (const id of released) gone.add(id);
      history.push(shown("done", released));
    }
    return !ending.fails;
  }
}

/** Each item with the list of the windows that hold its time; and the windows that were handed over in time. */
function timeModel(
  { ms, everyMs, maxHeld }: { ms: number; everyMs: number; maxHeld: number },
  steps: readonly Step[],
  endings: readonly Ending[],
): History {
  const worker = new Worker(endings);
  const { history, gone } = worker;
  const windowsOf = new Map<number, readonly number[]>();
  const timeOf = (id: number): number => (steps[id] as { at: number }).at;
  const held = (): number[] => [...windowsOf.keys()].filter((id) => !gone.has(id));
  let now = Number.NEGATIVE_INFINITY;
  const handedOver = new Set<number>();
  const takeDue = (until: number): void => {
    const over = new Set(handedOver);
    const isOpen = (start: number): boolean => !over.has(start) && start + ms <= until;
    for (;;) {
      const open = held().flatMap((id) => windowsOf.get(id)?.filter(isOpen) ?? []);
      if (open.length === 0) return;
      const start = Math.min(...open);
      const ids = held()
        .filter((id) => windowsOf.get(id)?.includes(start))
        .sort((a, b) => timeOf(a) - timeOf(b) || a - b);
      over.add(start);
      const done = worker.work(start, start + ms, ids, (id) =>
        (windowsOf.get(id) ?? []).every((one) => over.has(one)),
      );
      if (done && start + ms <= now) handedOver.add(start);
    }
  };
  steps.forEach((step, id) => {
    if (step.type === "add") {
      const { at } = step;
      const windows = Array.from({ length: 200 }, (_, k) => (k - 100) * everyMs).filter(
        (start) => start <= at && at < start + ms,
      );
      const added = windows.every((start) => handedOver.has(start))
        ? "late"
        : held().length >= maxHeld
          ? "full"
          : "held";
      history.push(added);
      if (added === "held") windowsOf.set(id, windows);
      takeDue(now);
    } else if (step.type === "tick") {
      now = Math.max(now, step.at);
      takeDue(now);
    } else {
      takeDue(Number.POSITIVE_INFINITY);
      history.push("cleared");
    }
    history.push(`holds ${held().length}`);
  });
  return history;
}

/** The items since the last flush as a list, of which a window is the end. */
function countModel(
  { count, every }: { count: number; every: number },
  steps: readonly Step[],
  endings: readonly Ending[],
): History {
  const worker = new Worker(endings);
  const { history, gone } = worker;
  let before = 0;
  let came: number[] = [];
  const held = (): number[] => came.filter((id) => !gone.has(id));
  const work = (): void => {
    const window = came.slice(-count);
    const next = [...came, ...Array.from({ length: every }, () => -1)].slice(-count);
    const end = before + came.length;
    const ids = window.filter((id) => !gone.has(id));
    worker.work(end - window.length, end, ids, (id) => !next.includes(id));
  };
  steps.forEach((step, id) => {
    if (step.type === "add") {
      history.push("held");
      came.push(id);
      if (came.length % every === 0) work();
    } else if (step.type === "flush") {
      if (came.length % every !== 0) work();
      history.push(shown("cleared", held()));
      before += came.length;
      came = [];
    }
    history.push(`holds ${held().length}`);
  });
  return history;
}

const quarters = fc.integer({ min: -40, max: 160 }).map((n) => n / 4);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: quarters.map((at) => ({ type: "add" as const, at })) },
  { weight: 4, arbitrary: quarters.map((at) => ({ type: "tick" as const, at })) },
  { weight: 1, arbitrary: fc.constant({ type: "flush" as const }) },
);
const steps = fc.array(step, { maxLength: 40 });
const span = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.nat({ max: 11 }));
const well: Ending = { fails: false, settles: [] };
const ending: fc.Arbitrary<Ending> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(well) },
  {
    weight: 1,
    arbitrary: fc.record({ fails: fc.boolean(), settles: fc.array(fc.nat({ max: 4 }), { maxLength: 2 }) }),
  },
);
const endings = fc.array(ending, { minLength: 1, maxLength: 8 });

describe("windows agree with a naive model", () => {
  check.prop([span, fc.integer({ min: 1, max: 12 }), steps, endings])(
    "of time, whatever comes late, fails, is settled or finds no room",
    ([ms, slide], maxHeld, steps, endings) => {
      const options = { ms, everyMs: 1 + (slide % ms), maxHeld };
      const history = historyOf(new TimeWindows(options), steps, endings);
      expect(history).toEqual(timeModel(options, steps, endings));
    },
  );

  check.prop([span, steps, endings])(
    "by count, whatever fails or is settled",
    ([count, slide], steps, endings) => {
      const options = { count, every: 1 + (slide % count) };
      const history = historyOf(new CountWindows(options), steps, endings);
      expect(history).toEqual(countModel(options, steps, endings));
    },
  );
});

describe("what holds for all windows", () => {
  /** Windows with their items, and the items let go with each. */
  function run(machine: WindowTable<number>, steps: readonly Step[]) {
    const windows: { start: number; end: number; tuples: readonly number[]; released: readonly number[] }[] =
      [];
    const added: number[] = [];
    const rest: number[] = [];
    const take = (): void => {
      for (let view = machine.next(); view !== undefined; view = machine.next())
        windows.push({ ...view, released: machine.done() });
    };
    steps.forEach((step, id) => {
      if (step.type === "tick") machine.tick(step.at);
      else if (step.type === "add" && machine.add(step.at, id) === "held") added.push(id);
      take();
    });
    machine.flush();
    take();
    rest.push(...machine.clear());
    return { windows, added, rest };
  }
  const unflushed = steps.map((all) => all.filter(({ type }) => type !== "flush"));
  const machines = [
    (size: number, every: number) => new TimeWindows<number>({ ms: size, everyMs: every, maxHeld: 100 }),
    (size: number, every: number) => new CountWindows<number>({ count: size, every }),
  ];

  for (const [kind, make] of machines.entries())
    check.prop([span, unflushed])(
      `${["of time", "by count"][kind]}: each once, each item let go once, with the last window that has it`,
      ([size, slide], steps) => {
        const { windows, added, rest } = run((make as (typeof machines)[0])(size, 1 + (slide % size)), steps);
        const ends = windows.map(({ end }) => end);
        expect(new Set(ends).size).toBe(ends.length);
        if (kind === 1) expect(ends).toEqual(ends.toSorted((a, b) => a - b));
        expect([...windows.flatMap(({ released }) => released), ...rest].sort((a, b) => a - b)).toEqual(
          added,
        );
        for (const [place, { released }] of windows.entries())
          for (const id of released) {
            expect(windows[place]?.tuples).toContain(id);
            expect(windows.slice(place + 1).some(({ tuples }) => tuples.includes(id))).toBe(false);
          }
      },
    );

  check.prop([fc.integer({ min: 1, max: 12 }), unflushed])(
    "tumbling ones part the items among them",
    (size, steps) => {
      for (const make of machines) {
        const { windows, added, rest } = run(make(size, size), steps);
        expect(windows.flatMap(({ tuples }) => tuples).sort((a, b) => a - b)).toEqual(added);
        expect(rest).toEqual([]);
      }
    },
  );
});

describe("the log of windows that were handed over", () => {
  const starts = fc.array(
    fc.integer({ min: -30, max: 30 }).map((n) => n * 5),
    { maxLength: 60 },
  );
  check.prop([starts, starts])("knows them, as a list of them would", (added, asked) => {
    const log = new WindowLog(5);
    for (const start of added) log.add(start);
    for (const start of asked) {
      let open = start;
      while (added.includes(open)) open += 5;
      expect(log.firstOpen(start)).toBe(open);
    }
  });

  test("forgets the oldest of a thousand runs: all up to that counts as handed over", () => {
    const log = new WindowLog(1);
    for (let run = 0; run < 1_000; run++) log.add(run * 2);
    expect([log.firstOpen(-5), log.firstOpen(1)]).toEqual([-5, 1]);
    log.add(5_000);
    expect([log.firstOpen(-5), log.firstOpen(1)]).toEqual([1, 1]);
  });
});
