// The time budget of a turn, counted on a clock that stands still: whatever processes do, a macrotask of the host has
// its go after `turnMs` and one step more. Each step here takes one millisecond. Before the scheduler has seen that
// steps are slow, as many are let go at once as while they are fast: that overrun comes once.

import { ConsumerGroup, consumer, defineServer, type Pid, type ReplyTo, System, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { outcome, type Question } from "../support/callees.js";

const MANY = 200;
const TURN_MS = 5;
const STEP_MS = 1;
/** Steps let go between two looks at the clock while they are fast. */
const BURST = 16;

let clock: TestClock;
let system: System;
let steps: number;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false, limits: { turnMs: TURN_MS } });
  steps = 0;
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

/** The work of one continuation. */
function step(): void {
  steps++;
  clock.elapse(STEP_MS);
}

/**
 * How long the host waits for its go, from one macrotask to the next, until all have done their step. The first wait may
 * be an overrun, the longer the more awaits a step has before it.
 */
async function expectFairness(awaits = 1): Promise<void> {
  const waits: number[] = [];
  let goes = 0;
  for (let last = clock.now; steps < MANY && goes < 10 * MANY; goes++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (clock.now > last) waits.push(clock.now - last);
    last = clock.now;
  }
  expect(steps).toBe(MANY);
  const [first = 0, ...others] = waits;
  expect(first).toBeLessThanOrEqual(TURN_MS + awaits * BURST * STEP_MS);
  expect(others.length).toBeGreaterThan(10);
  expect(Math.max(...others)).toBeLessThanOrEqual(TURN_MS + awaits * STEP_MS);
}

function many<T>(make: (n: number) => T): T[] {
  return Array.from({ length: MANY }, (_, n) => make(n));
}

const echo = (): Pid<Question> => system.spawn<Question>({ handle: (ctx, { n, to }) => ctx.reply(to, n) });

const question =
  (n: number) =>
  (to: ReplyTo<number>): Question => ({ n, to });

describe("the host runs within the budget and one step", () => {
  it("while many function bodies continue after a receive [F3]", async () => {
    const bodies = many(() =>
      system.spawn<string>(async (ctx) => {
        await ctx.receive();
        step();
      }),
    );
    await system.idle();
    for (const pid of bodies) system.send(pid, "go");
    await expectFairness();
  });

  it("while many function bodies begin, each with an await before its work [F3]", async () => {
    many(() =>
      system.spawn(async () => {
        await undefined;
        step();
      }),
    );
    await expectFairness();
  });

  it("while many asynchronous handlers continue after an await of their own [F3]", async () => {
    const pids = many(() =>
      system.spawn<string>({
        handle: async () => {
          await undefined;
          step();
        },
      }),
    );
    for (const pid of pids) system.send(pid, "go");
    await expectFairness();
  });

  it("while one body takes message after message [F3]", async () => {
    const pid = system.spawn<number>(async (ctx) => {
      for (;;) {
        await ctx.receive();
        step();
      }
    });
    for (let n = 0; n < MANY; n++) system.send(pid, n);
    await expectFairness();
  });

  it("while a server answers the calls of many bodies in one activation [F4]", async () => {
    const server = echo();
    many((n) =>
      system.spawn(async (ctx) => {
        await ctx.call(server, question(n));
        step();
      }),
    );
    await expectFairness();
  });

  it("while calls from outside of all processes continue [F4]", async () => {
    const server = echo();
    many((n) => void system.call(server, question(n)).then(step));
    await expectFairness();
  });

  it("while a callee's death ends many calls [F4]", async () => {
    const server = system.spawn<Question>({ handle: () => undefined });
    many((n) =>
      system.spawn(async (ctx) => {
        await ctx.call(server, question(n)).catch(outcome);
        step();
      }),
    );
    await system.idle();
    system.exit(server, "kill");
    await expectFairness(3);
  });

  it("while an AbortSignal ends many calls and receives [F4]", async () => {
    const server = system.spawn<Question>({ handle: () => undefined });
    const controller = new AbortController();
    const { signal } = controller;
    many((n) =>
      system.spawn(async (ctx) => {
        if (n % 2 === 0) await ctx.receive({ signal }).catch(outcome);
        else await ctx.call(server, question(n), { signal }).catch(outcome);
        step();
      }),
    );
    await system.idle();
    controller.abort("enough");
    await expectFairness(3);
  });

  it("while timeouts end many receives [F4]", async () => {
    many(() =>
      system.spawn(async (ctx) => {
        await ctx.receive({ timeoutMs: 10 }).catch(outcome);
        step();
      }),
    );
    await system.idle();
    clock.elapse(10);
    void clock.advance(0);
    await expectFairness(3);
  });

  it("while a system ends many bodies, whose `finally` blocks run [F4]", async () => {
    const bodies = many(() =>
      system.spawn(async (ctx) => {
        try {
          await ctx.receive();
        } finally {
          step();
        }
      }),
    );
    await system.idle();
    for (const pid of bodies) system.exit(pid, "kill");
    await expectFairness(3);
  });

  it("while many starts are awaited [F4]", async () => {
    const Idle = defineServer({ init: () => ({}) });
    many(() => void system.start(Idle).then(step));
    await expectFairness(5);
  });

  it("while many ends are awaited [F4]", async () => {
    const pids = many(() => system.spawn<string>({ handle: () => undefined }));
    for (const pid of pids) void system.exited(pid).then(step);
    await system.idle();
    for (const pid of pids) system.exit(pid, "kill");
    await expectFairness();
  });

  it("while many asynchronous `init` and `terminate` continue after an await of their own [F3]", async () => {
    const pids = many(() =>
      system.spawn<string>({
        init: async () => {
          await undefined;
          step();
        },
        handle: () => stop(),
        terminate: async () => {
          await undefined;
          step();
        },
      }),
    );
    await expectFairness();
    steps = 0;
    for (const pid of pids) system.send(pid, "end");
    await expectFairness();
  });

  it("while many dispatches are settled [F4]", async () => {
    const group = new ConsumerGroup<number>();
    system.spawn(consumer<number>((n) => n, { group }));
    await system.idle();
    many((n) => void system.dispatch(group, n).then(step));
    await expectFairness();
  });

  it("while many timers of bodies fire [F5]", async () => {
    many(() =>
      system.spawn(async (ctx) => {
        ctx.runAfter(10, step);
        await ctx.receive();
      }),
    );
    await system.idle();
    clock.elapse(10);
    void clock.advance(0);
    await expectFairness();
  });

  it("while many timers of callbacks fire, although all earlier steps were fast [F5]", async () => {
    for (const pid of many(() =>
      system.spawn({ init: (ctx) => ctx.runAfter(10, step), handle: () => undefined }),
    ))
      for (let n = 0; n < 20; n++) system.send(pid, "a fast message");
    await system.idle();
    clock.elapse(10);
    void clock.advance(0);
    await expectFairness();
  });
});

describe("within the budget", () => {
  it("an awaited call needs no trip through the event loop [F6]", async () => {
    const server = echo();
    let calls = 0;
    let goes = 0;
    const done = new Promise<void>((resolve) => {
      system.spawn(async (ctx) => {
        for (let n = 0; n < 1_000; n++) {
          await ctx.call(server, question(n));
          calls++;
        }
        resolve();
      });
    });
    const count = (): void => {
      if (calls < 1_000) setImmediate(count);
      goes++;
    };
    setImmediate(count);
    await done;
    // 10,000 messages are one budget; the first turn of an idle system begins in a macrotask.
    expect(goes).toBeLessThanOrEqual(2);
  });

  it("timers that are due together fire in their order, however long each takes [F5]", async () => {
    const order: number[] = [];
    system.spawn(async (ctx) => {
      for (let n = 0; n < 50; n++)
        ctx.runAfter(10 + (n % 5), () => {
          order.push(n);
          step();
        });
      await ctx.receive();
    });
    await system.idle();
    await clock.advance(14);
    await system.idle();
    expect(order).toHaveLength(50);
    expect(order).toEqual(order.toSorted((a, b) => (a % 5) - (b % 5) || a - b));
  });

  it("continuations run in the order in which their promises were settled [F4]", async () => {
    const server = echo();
    const order: number[] = [];
    many((n) =>
      system.spawn(async (ctx) => {
        order.push(await ctx.call(server, question(n)));
        step();
      }),
    );
    await expectFairness();
    expect(order).toEqual(many((n) => n));
  });

  it("continuations of settled promises run when the system stops [F4]", async () => {
    const server = echo();
    const calls = many((n) => system.call(server, question(n)).then(step, step));
    while (steps === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(steps).toBeGreaterThan(0);
    expect(steps).toBeLessThan(MANY);
    const stopped = system.stop();
    await Promise.all(calls);
    await stopped;
    expect(steps).toBe(MANY);
  });
});
