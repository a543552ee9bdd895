// The clock of a test: time goes only where it is sent, and at every stop everything that can run has run.

import { fc, test as property } from "@fast-check/vitest";
import { type Context, type Pid, type ReplyTo, remoteNodes, System, type Transport } from "signalbox";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ClockLimitError, clockOf, type TestClock, testClock } from "../../../lib/testing/kit/clock.js";

let clock: TestClock;
let system: System;
let log: unknown[];
let inbox: Pid<unknown>;
const systems: System[] = [];

function newSystem(on: TestClock = clock, name = "shop"): System {
  const made = new System({ name, environment: on.environment, report: false });
  systems.push(made);
  return made;
}

/** Notes each message with the time at which it was handled. */
function diary(of: System = system, into: unknown[] = log): Pid<unknown> {
  return of.spawn<unknown>({ handle: (ctx, message) => void into.push([ctx.now(), message]) });
}

beforeEach(() => {
  clock = testClock();
  system = newSystem();
  log = [];
  inbox = diary();
});
afterEach(async () => {
  for (const one of systems.splice(0)) {
    for (const pid of one.processes()) one.exit(pid, "kill");
    await one.stop();
  }
});

interface Question {
  readonly replyTo: ReplyTo<string>;
}

/** Answers `done` after so many milliseconds. */
function slow(ms: number): Pid<Question> {
  return system.spawn<Question>({
    handle: (ctx, { replyTo }) => void ctx.runAfter(ms, () => ctx.reply(replyTo, "done")),
  });
}

function ask(callee: Pid<Question>, timeoutMs?: number): Promise<string> {
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  return system.call(callee, (replyTo: ReplyTo<string>) => ({ replyTo }), options);
}

/** Fires every `ms`, for ever. */
function ticker(ms: number): Pid<unknown> {
  const handle = (): void => undefined;
  const init = (ctx: Context<unknown>): void => void ctx.sendInterval(ctx.self, "tick", ms);
  return system.spawn<unknown>({ init, handle }, { label: "ticker" });
}

async function failure(work: Promise<unknown>): Promise<Error> {
  return work.then(
    () => expect.fail("it did not fail"),
    (error) => error,
  );
}

describe("a test clock", () => {
  test("stands still until the test advances it, while processes run", async () => {
    system.sendAfter(inbox, "late", 1);
    system.send(inbox, "at once");
    await clock.settle();
    await system.idle();
    expect(log).toEqual([[0, "at once"]]);
    expect(clock.now).toBe(0);
  });

  test("advances exactly by the given time", async () => {
    system.sendAfter(inbox, "late", 1_000);
    await clock.advance(999);
    expect(log).toEqual([]);
    expect(clock.now).toBe(999);
    await clock.advance(1);
    expect(log).toEqual([[1_000, "late"]]);
    await clock.advance(0.5);
    expect(clock.now).toBe(1_000.5);
  });

  test("with 0 fires the timers that are due now", async () => {
    system.sendAfter(inbox, "soon", 0);
    await clock.advance(0);
    expect(log).toEqual([[0, "soon"]]);
  });

  test("stops at each timer on its way, at those that are set meanwhile too", async () => {
    const chain = system.spawn<number>({
      handle: (ctx, left) => {
        log.push(ctx.now());
        if (left > 0) ctx.sendAfter(ctx.self as Pid<number>, left - 1, 10);
      },
    });
    system.send(chain, 3);
    await clock.advance(25);
    expect(log).toEqual([0, 10, 20]);
    expect(clock.now).toBe(25);
    await clock.advance(5);
    expect(log).toEqual([0, 10, 20, 30]);
  });

  test("lets everything run that a timer led to, asynchronous handlers too, before the next one fires", async () => {
    const third = diary();
    const second = system.spawn<string>({
      handle: async (ctx, message) => {
        for (let i = 0; i < 20; i++) await undefined;
        ctx.send(third, message);
      },
    });
    const first = system.spawn<string>(async (ctx) => {
      for (;;) ctx.send(second, await ctx.receive());
    });
    for (const ms of [10, 10.001, 20]) system.sendAfter(first, `sent for ${ms}`, ms);
    await clock.advance(100);
    expect(log).toEqual([10, 10.001, 20].map((ms) => [ms, `sent for ${ms}`]));
  });

  test("lets an unhandled rejection end its process before the next timer fires", async () => {
    const ends: unknown[] = [];
    system.events.on("exit", ({ pid }) => ends.push([clock.now, pid]));
    const careless = system.spawn<string>({
      handle: () => {
        void Promise.reject(new Error("not awaited"));
      },
    });
    system.sendAfter(careless, "go", 10);
    system.sendAfter(inbox, "next", 11);
    await clock.advance(100);
    expect(ends).toEqual([[10, careless]]);
  });

  test("moves the time for timeouts of receives, calls and starts as well", async () => {
    const late = ask(system.spawn<Question>({ handle: () => undefined }), 700);
    const waiting = system.spawn(async (ctx) => void (await ctx.receive({ timeoutMs: 300 })));
    system.events.on("exit", ({ pid }) => pid === waiting && log.push(clock.now));
    late.catch(() => log.push(clock.now));
    await clock.advance(1_000);
    expect(log).toEqual([300, 700]);
  });

  test("two concurrent calls that advance it wait for running processes", async () => {
    // Every message takes a turn of the event loop to itself.
    const halting = new System({
      environment: clock.environment,
      limits: { turnMessages: 1 },
      report: false,
    });
    systems.push(halting);
    const notes = diary(halting);
    const relay: Pid<number> = halting.spawn<number>({
      handle: (ctx, hops) => ctx.send(hops % 10 === 0 ? notes : relay, hops + 1),
    });
    for (let ms = 1; ms <= 20; ms++) halting.sendAfter(relay, 10 * ms + 1, ms);
    await Promise.all([clock.advance(10), clock.advance(20), clock.settle(), clock.runAll()]);
    expect(log).toEqual(Array.from({ length: 20 }, (_, i) => [i + 1, 10 * (i + 2) + 1]));
    expect(clock.now).toBe(20);
    log.length = 0;
    system.spawn(async (ctx) => {
      const send = ctx.wrap(() => ctx.send(inbox, "by way of the host"));
      ctx.runAfter(10, () => void setImmediate(send));
      await ctx.receive();
    });
    system.sendAfter(inbox, "after it", 11);
    await Promise.all([clock.advance(11), clock.advance(11), clock.advance(11)]);
    expect(log).toEqual([
      [30, "by way of the host"],
      [31, "after it"],
    ]);
  });

  test("is not moved by a test runner that fakes the host's timers, nor stopped", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "setImmediate", "queueMicrotask", "Date"] });
    try {
      system.sendAfter(inbox, "late", 10);
      await clock.advance(10);
      expect(log).toEqual([[10, "late"]]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("is found by the Environment it gives, and by no other", () => {
    expect(clockOf(system.kernel.env)).toBe(clock);
    expect(clockOf({ ...clock.environment })).toBeUndefined();
  });
});

describe("the properties of a clock", () => {
  test("is how many timers are set, and when the first is due", async () => {
    expect([clock.pendingTimers, clock.nextTimer]).toEqual([0, undefined]);
    const far = system.sendAfter(inbox, "far", 500);
    const near = system.sendAfter(inbox, "near", 200);
    expect([clock.pendingTimers, clock.nextTimer]).toEqual([2, 200]);
    system.cancel(near);
    expect([clock.pendingTimers, clock.nextTimer]).toEqual([1, 500]);
    await clock.advance(100);
    const call = ask(slow(1_000), 300);
    call.catch(() => undefined);
    await clock.settle();
    expect([clock.pendingTimers, clock.nextTimer]).toEqual([3, 400]);
    system.cancel(far);
    await clock.runAll();
    expect([clock.pendingTimers, clock.nextTimer]).toEqual([0, undefined]);
  });

  test("is how many systems are to be woken: those with a timer that have not stopped", async () => {
    expect(clock.pendingAlarms).toBe(0);
    const other = newSystem(clock, "other");
    for (const ms of [10, 20]) system.sendAfter(inbox, "late", ms);
    other.sendAfter(diary(other), "late", 30);
    await clock.settle();
    expect(clock.pendingAlarms).toBe(2);
    await other.stop();
    expect(clock.pendingAlarms).toBe(1);
    await clock.advance(20);
    expect(clock.pendingAlarms).toBe(0);
  });

  test("is of all systems on it that have not stopped", async () => {
    const other = newSystem();
    other.sendAfter("nobody", "hello", 50);
    system.sendAfter(inbox, "hello", 70);
    expect([clock.pendingTimers, clock.nextTimer]).toEqual([2, 50]);
    await other.stop();
    expect([clock.pendingTimers, clock.nextTimer]).toEqual([1, 70]);
  });
});

describe("elapse", () => {
  test("moves the time at once, and fires no timer: the timers that became due fire late", async () => {
    for (const ms of [10, 20, 40]) system.sendAfter(inbox, ms, ms);
    await clock.settle();
    clock.elapse(25);
    expect([clock.now, clock.pendingTimers]).toEqual([25, 3]);
    await clock.settle();
    expect(log).toEqual([]);
    await clock.advance(0);
    expect(log).toEqual([
      [25, 10],
      [25, 20],
    ]);
    await clock.advance(15);
    expect(log.slice(2)).toEqual([[40, 40]]);
  });

  test("in a handler stands for work that takes its time: whatever comes after starts late", async () => {
    const busy = system.spawn<number>({ handle: (_ctx, ms) => clock.elapse(ms) });
    system.send(busy, 30);
    system.send(inbox, "next");
    await clock.settle();
    expect(log).toEqual([[30, "next"]]);
  });

  test("does not hide systems that never come to rest", async () => {
    const busy: Pid<string> = system.spawn<string>({
      handle: async (ctx) => {
        clock.elapse(1);
        await null;
        ctx.send(ctx.self, "again");
      },
    });
    system.send(busy, "go");
    await expect(clock.settle()).rejects.toThrow(ClockLimitError);
  });
});

describe("several systems on one clock", () => {
  test("have one time, and timers fire in its order", async () => {
    const other = newSystem(clock, "depot");
    const there = diary(other);
    for (const ms of [10, 30]) system.sendAfter(inbox, "here", ms);
    for (const ms of [20, 40]) other.sendAfter(there, "there", ms);
    await clock.advance(35);
    expect(log).toEqual([
      [10, "here"],
      [20, "there"],
      [30, "here"],
    ]);
    await clock.runAll();
    expect(log.at(-1)).toEqual([40, "there"]);
  });

  test("whose timers are due together have theirs in the order in which they were set", async () => {
    const other = newSystem(clock, "depot");
    other.sendAfter(diary(other), "first", 10);
    system.sendAfter(inbox, "second", 10);
    await clock.advance(10);
    expect(log).toEqual([
      [10, "first"],
      [10, "second"],
    ]);
  });

  test.each([
    ["at once", (deliver: () => void) => deliver()],
    ["in the next turn of the event loop", (deliver: () => void) => void setImmediate(deliver)],
  ])(
    "come to rest together, however often they send to each other over a wire that delivers %s",
    async (_, wire) => {
      const both: System[] = [];
      const transport: Transport = {
        send: (node, signal) => {
          wire(() => both.find((one) => one.node.id === node.id)?.deliver(signal));
          return true;
        },
      };
      for (const name of ["here", "there"]) {
        const one = new System({
          name,
          environment: clock.environment,
          transport: remoteNodes(transport),
          report: false,
        });
        const handle = async (ctx: Context<number>, left: number): Promise<void> => {
          await undefined;
          log.push([name, left]);
          const other = both[name === "here" ? 1 : 0] as System;
          if (left > 0) ctx.send(one.pidAt(other.address(other.whereis("player") as Pid)), left - 1);
        };
        one.spawn<number>({ handle }, { name: "player" });
        both.push(one);
      }
      both[0]?.send("player", 9);
      await clock.settle();
      expect(log).toEqual(Array.from({ length: 10 }, (_, i) => [i % 2 === 0 ? "here" : "there", 9 - i]));
      await Promise.all(both.map((one) => one.stop()));
    },
  );

  test("have ids of their own", () => {
    expect(newSystem().node.id).not.toBe(newSystem().node.id);
  });
});

describe("wall time and random numbers", () => {
  const numbers = (of: TestClock): number[] => Array.from({ length: 5 }, () => of.environment.random());

  test("begin the same each time", () => {
    expect(numbers(testClock())).toEqual(numbers(testClock({ seed: 1 })));
    expect(new Date(clock.environment.wallTime()).toISOString()).toBe("2020-01-01T00:00:00.000Z");
  });

  test("are another seed's with another seed", () => {
    expect(numbers(testClock({ seed: 2 }))).not.toEqual(numbers(testClock({ seed: 1 })));
    for (const number of numbers(clock)) expect(number >= 0 && number < 1).toBe(true);
    expect(new Set(numbers(clock)).size).toBe(5);
  });

  test("go on with the time", async () => {
    const set = testClock({ wallTime: 1_000_000 });
    await set.advance(250);
    expect([set.now, set.environment.wallTime(), set.environment.now()]).toEqual([250, 1_000_250, 250]);
  });
});

describe("runAll", () => {
  test("advances until no timer is left", async () => {
    system.sendAfter(inbox, "wake up", 8 * 3_600_000);
    const answer = ask(slow(100));
    await clock.runAll();
    expect(await answer).toBe("done");
    expect(log).toEqual([[28_800_000, "wake up"]]);
    expect(clock.now).toBe(28_800_000);
  });

  test("without timers only comes to rest", async () => {
    system.send(inbox, "hello");
    await clock.runAll();
    expect(log).toEqual([[0, "hello"]]);
    expect(clock.now).toBe(0);
  });

  test("does not wait for timers that were cancelled, nor for those of a system that has stopped", async () => {
    system.cancel(system.sendAfter(inbox, "cancelled", 500));
    const other = newSystem();
    other.sendAfter("nobody", "too late", 700);
    await other.stop();
    await clock.runAll();
    expect(clock.now).toBe(0);
  });

  test("gives up on an interval that is never cancelled, and names the processes that ran", async () => {
    const tick = ticker(10);
    const error = await failure(clock.runAll({ limit: 25 }));
    expect(error).toBeInstanceOf(ClockLimitError);
    expect(error).toMatchObject({ code: "ERR_CLOCK_LIMIT", limit: 25, processes: [String(tick)] });
    expect(error.message).toBe(
      "timers fired at 25 stops before no timer was left, and at 250 ms there are more; ran last: " +
        "<shop.2 ticker>. Is there an interval that is never cancelled? Move the time with advance(ms), or raise `limit`",
    );
    expect(clock.now).toBe(250);
  });

  test("has a limit of 10,000 stops unless it is given another", async () => {
    ticker(1);
    await failure(clock.runAll());
    expect(clock.now).toBe(10_000);
  });

  test("may use up its limit to the last", async () => {
    for (const ms of [1, 2, 3]) system.sendAfter(inbox, ms, ms);
    await clock.runAll({ limit: 3 });
    expect(log).toHaveLength(3);
  });

  test("leaves the clock as good as before when it gives up", async () => {
    const tick = ticker(10);
    await failure(clock.runAll({ limit: 2 }));
    system.exit(tick, "kill");
    system.sendAfter(inbox, "late", 5);
    await clock.runAll({ limit: Number.POSITIVE_INFINITY });
    expect(log).toEqual([[25, "late"]]);
  });
});

describe("until", () => {
  test("advances the time until the promise settles, and returns its result", async () => {
    expect(await clock.until(ask(slow(500)))).toBe("done");
    expect(clock.now).toBe(500);
  });

  test("rejects as the promise does", async () => {
    expect(await failure(clock.until(ask(slow(500), 100)))).toMatchObject({ code: "ERR_CALL_TIMEOUT" });
    expect(clock.now).toBe(100);
  });

  test("does not advance the time for a promise that settles without it", async () => {
    system.sendAfter(inbox, "later", 10);
    expect(await clock.until(ask(slow(0)))).toBe("done");
    expect(await clock.until(Promise.resolve(7))).toBe(7);
    expect(clock.now).toBe(0);
    expect(log).toEqual([]);
  });

  test("stops a system whose processes take their time, as nothing else would on a clock that stands still", async () => {
    system.spawn(
      {
        handle: () => undefined,
        terminate: () => new Promise(() => undefined),
      },
      { trapExit: true },
    );
    await clock.settle();
    await clock.until(system.stop());
    expect(clock.now).toBe(5_000);
  });

  test("fails at once when nothing is left that could settle it", async () => {
    system.sendAfter(inbox, "late", 30);
    const error = await failure(clock.until(new Promise(() => undefined)));
    expect(error).toMatchObject({ code: "ERR_CLOCK_STUCK" });
    expect(error.message).toContain("at 30 ms nothing is left to run and no timer is set");
  });

  test("fails when timers fire without end", async () => {
    ticker(10);
    const error = await failure(clock.until(new Promise(() => undefined), { limit: 7 }));
    expect(error).toMatchObject({ code: "ERR_CLOCK_LIMIT", limit: 7 });
    expect(error.message).toContain(
      "timers fired at 7 stops before the promise had settled, and at 70 ms there are more",
    );
  });

  test("two of them share the time", async () => {
    const answers = await Promise.all([clock.until(ask(slow(300))), clock.until(ask(slow(100)))]);
    expect(answers).toEqual(["done", "done"]);
    expect(clock.now).toBe(300);
  });
});

describe("systems that never come to rest", () => {
  function pair(): void {
    const pids: Pid<string>[] = [];
    for (const label of ["ping", "pong"]) {
      const handle = (ctx: Context<string>, ball: string): void =>
        ctx.send(pids[label === "ping" ? 1 : 0] as Pid<string>, ball);
      pids.push(system.spawn<string>({ handle }, { label }));
    }
    system.send(pids[0] as Pid<string>, "ball");
  }

  test("are found out when they send to each other for ever, and named", async () => {
    const impatient = testClock({ turns: 3 });
    system = newSystem(impatient);
    pair();
    const error = await failure(impatient.settle());
    expect(error).toMatchObject({ code: "ERR_CLOCK_LIMIT", limit: 3 });
    const { processes } = error as ClockLimitError;
    expect([...processes].sort()).toEqual(["<shop.1 ping>", "<shop.2 pong>"]);
    expect(error.message).toMatch(
      /^the systems on this clock were still busy after 3 turns at 0 ms; ran last: </,
    );
  });

  test("are found out after 500 turns when nothing else is said", async () => {
    pair();
    expect(await failure(clock.runAll())).toMatchObject({ code: "ERR_CLOCK_LIMIT", limit: 500 });
  });

  test("are found out when it is by timers of 0 ms", async () => {
    const again = system.spawn<string>({
      handle: (ctx, message) => void ctx.sendAfter(ctx.self as Pid<string>, message, 0),
    });
    system.send(again, "again");
    const error = await failure(clock.advance(1));
    expect(error).toMatchObject({ code: "ERR_CLOCK_LIMIT", limit: 500, processes: ["<shop.2>"] });
    expect(clock.now).toBe(0);
  });

  test("may be so for exactly as many turns as the clock allows", async () => {
    const exact = testClock({ turns: 5 });
    const house = newSystem(exact);
    const again: Pid<number> = house.spawn<number>({
      handle: (ctx, left) => void (left > 1 && ctx.sendAfter(again, left - 1, 0)),
    });
    house.sendAfter(again, 5, 0);
    await exact.advance(0);
    house.sendAfter(again, 6, 0);
    expect(await failure(exact.advance(0))).toMatchObject({ code: "ERR_CLOCK_LIMIT", limit: 5 });
  });

  test("leave the clock as good as before once they are gone", async () => {
    const again: Pid<unknown> = system.spawn({ handle: (ctx) => void ctx.sendAfter(again, "again", 0) });
    system.send(again, "again");
    await failure(clock.advance(1));
    system.exit(again, "kill");
    system.sendAfter(inbox, "late", 5);
    await clock.advance(5);
    expect(log).toEqual([[5, "late"]]);
  });

  test("are not those that are busy again and again, as time goes by", async () => {
    const impatient = testClock({ turns: 2 });
    system = newSystem(impatient);
    inbox = diary();
    for (let ms = 0; ms < 20; ms++) system.sendAfter(inbox, ms, ms);
    await impatient.advance(100);
    for (let i = 0; i < 20; i++) {
      system.sendAfter(inbox, i, 0);
      await impatient.advance(0);
    }
    expect(log).toHaveLength(40);
    // A long turn, so that there is something to wait for: it takes three turns of the event loop.
    const countdown: Pid<number> = system.spawn<number>({
      handle: (ctx, left) => void (left > 0 && ctx.send(countdown, left - 1)),
    });
    for (let i = 0; i < 5; i++) {
      system.send(countdown, 15_000);
      await impatient.settle();
    }
  });
});

describe("options are checked", () => {
  test.each([
    [{ seed: -1 }, "seed"],
    [{ seed: 0.5 }, "seed"],
    [{ wallTime: Number.NaN }, "wallTime"],
    [{ turns: 0 }, "turns"],
  ])("of the clock: %j", (options, path) => {
    expect(() => testClock(options)).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
  });

  test("of the methods that advance it", async () => {
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(await failure(clock.advance(ms))).toMatchObject({ code: "ERR_OPTION", path: "ms" });
    expect(await failure(clock.runAll({ limit: 0 }))).toMatchObject({ code: "ERR_OPTION", path: "limit" });
    const never = clock.until(Promise.resolve(), { limit: 1.5 });
    expect(await failure(never)).toMatchObject({ code: "ERR_OPTION", path: "limit" });
  });
});

describe("the order of timers", () => {
  const timer = fc.record({ ms: fc.nat(20), on: fc.nat(1), again: fc.option(fc.nat(10)) });

  interface Fired {
    readonly at: number;
    readonly on: number;
    readonly id: string;
  }

  /** Sets the timers on two systems, of which each may set another when it fires, and moves the time in steps. */
  async function run(timers: readonly { ms: number; on: number; again: number | null }[], steps: number[]) {
    const own = testClock();
    const fired: Fired[] = [];
    const houses = [0, 1].map((on) => {
      const house = newSystem(own);
      const pid: Pid<{ id: string; again: number | null }> = house.spawn<{
        id: string;
        again: number | null;
      }>({
        handle: async (ctx, { id, again }) => {
          await undefined;
          fired.push({ at: ctx.now(), on, id });
          if (again !== null) ctx.sendAfter(pid, { id: `${id} again`, again: null }, again);
        },
      });
      return { house, pid };
    });
    for (const [i, { ms, on, again }] of timers.entries()) {
      const { house, pid } = houses[on] as (typeof houses)[number];
      house.sendAfter(pid, { id: `${i}`, again }, ms);
    }
    for (const step of steps) await own.advance(step);
    await own.runAll();
    await Promise.all(houses.map(({ house }) => house.stop()));
    return fired;
  }

  property.prop([fc.array(timer, { maxLength: 12 }), fc.array(fc.nat(8), { maxLength: 5 })], { numRuns: 60 })(
    "is that of their deadlines, and does not depend on the steps in which the time is moved",
    async (timers, steps) => {
      const fired = await run(timers, steps);
      const due = timers.flatMap(({ ms, again }, i) => [
        { id: `${i}`, at: ms },
        ...(again === null ? [] : [{ id: `${i} again`, at: ms + again }]),
      ]);
      const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);
      expect(fired.map(({ id, at }) => ({ id, at })).sort(byId)).toEqual(due.sort(byId));
      for (const [i, one] of fired.entries()) {
        const next = fired[i + 1];
        if (next !== undefined) expect(one.at).toBeLessThanOrEqual(next.at);
      }
      for (const on of [0, 1]) {
        const first = fired
          .filter((one) => one.on === on && !one.id.includes("again"))
          .map(({ id }) => Number(id));
        const ms = (i: number): number => timers[i]?.ms ?? 0;
        expect(first).toEqual([...first].sort((a, b) => ms(a) - ms(b) || a - b));
      }
      expect(await run(timers, [])).toEqual(fired);
    },
  );
});
