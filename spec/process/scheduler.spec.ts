// Turns: who runs next, for how long, and when the host has its go; on a host loop that is stepped by hand. What
// depends on a real event loop is in fairness.spec.ts.

import fc from "fast-check";
import { SYSTEM_DEFAULTS } from "signalbox";
import { describe, expect, test } from "vitest";
import type { Resumption, TurnLimits } from "../../lib/process/environment.js";
import { TurnScheduler } from "../../lib/process/scheduler.js";
import { bench, Job, SteppedLoop } from "../support/stepped.js";

describe("the run queue", () => {
  test("runs first come, first served, and never within the call of `ready`", () => {
    const { loop, scheduler } = bench();
    const log: string[] = [];
    const note = (job: Job): undefined => {
      log.push(job.name);
    };
    for (const name of ["a", "b", "c"]) scheduler.ready(new Job(name, note));
    expect(log).toEqual([]);
    loop.run();
    expect(log).toEqual(["a", "b", "c"]);
  });

  test("puts a process that is ready again behind the processes that wait", () => {
    const { loop, scheduler } = bench();
    const log: string[] = [];
    const thrice = (): ((job: Job) => undefined) => {
      let left = 3;
      return (job) => {
        log.push(job.name);
        if (--left > 0) scheduler.ready(job);
      };
    };
    for (const name of ["a", "b", "c"]) scheduler.ready(new Job(name, thrice()));
    loop.run();
    expect(log.join("")).toBe("abcabcabc");
  });

  test("keeps the order however it grows while it runs", () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(700), { maxLength: 6 }), { maxLength: 6 }), (batches) => {
        const { loop, scheduler } = bench();
        const made: number[] = [];
        const ran: number[] = [];
        const add = (children: readonly number[]): void => {
          const id = made.length;
          made.push(id);
          scheduler.ready(
            new Job(String(id), () => {
              ran.push(id);
              for (const count of children) for (let i = 0; i < count; i++) add([]);
              return undefined;
            }),
          );
        };
        for (const children of batches) {
          add(children);
          loop.step();
        }
        loop.run();
        expect(ran).toEqual(made);
      }),
      { numRuns: 50 },
    );
  });

  test("holds a hundred thousand processes at once, and frees the memory afterwards", () => {
    const { loop, scheduler } = bench();
    let last = -1;
    let inOrder = true;
    for (let i = 0; i < 100_000; i++) {
      scheduler.ready(
        new Job("", () => {
          inOrder &&= i === last + 1;
          last = i;
          return undefined;
        }),
      );
    }
    loop.run();
    expect(inOrder).toBe(true);
    expect(last).toBe(99_999);
    expect(Reflect.get(scheduler, "ring")).toHaveLength(512);
  });

  test("knows the running process, also while the queue grows", () => {
    const { loop, scheduler } = bench();
    const seen: boolean[] = [];
    const idle = new Job("idle");
    const busy = new Job("busy", (job) => {
      seen.push(scheduler.running === job);
      for (let i = 0; i < 3_000; i++) {
        scheduler.ready(idle);
        if (scheduler.running !== job) seen.push(false);
      }
      seen.push(scheduler.running === job);
      return undefined;
    });
    scheduler.ready(busy);
    loop.run();
    expect(seen).toEqual([true, true]);
  });
});

describe("a turn", () => {
  test("ends after its budget of messages, and the host runs before the next turn", () => {
    const { loop, scheduler } = bench({ turnMessages: 10, activationMessages: 3 });
    let inThisGo = 0;
    let total = 0;
    const goes: number[] = [];
    for (let i = 0; i < 4; i++) {
      scheduler.ready(
        new Job("busy", (job, limit) => {
          inThisGo += limit;
          total += limit;
          if (total < 1_000) scheduler.ready(job);
          return limit;
        }),
      );
    }
    while (loop.macro.length > 0 || loop.micro.length > 0) {
      loop.step();
      if (inThisGo > 0) goes.push(inThisGo);
      inThisGo = 0;
    }
    expect(total).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...goes)).toBeLessThanOrEqual(10 + 3 - 1);
    expect(goes.length).toBeGreaterThanOrEqual(1_000 / 12);
  });

  test("ends after its budget of time", () => {
    const { loop, scheduler } = bench({ turnMs: 5 });
    const goes: number[] = [];
    let total = 0;
    for (let i = 0; i < 2; i++) {
      scheduler.ready(
        new Job("slow", (job) => {
          loop.time += 2;
          total++;
          if (total < 30) scheduler.ready(job);
          return undefined;
        }),
      );
    }
    while (loop.macro.length > 0 || loop.micro.length > 0) {
      const before = loop.time;
      loop.step();
      goes.push(loop.time - before);
    }
    // The pace of looking at the clock is 1, 2, 4 … while nothing is known to be slow.
    expect(Math.max(...goes)).toBeLessThanOrEqual(10);
    expect(goes.slice(2, 8).every((ms) => ms <= 6)).toBe(true);
  });

  test("begins in a microtask while the budget lasts, so an exchange of messages needs no trip through the event loop", () => {
    const { loop, scheduler } = bench();
    let runs = 0;
    const job = new Job("job", () => {
      runs++;
      return undefined;
    });
    scheduler.ready(job);
    loop.run();
    for (let i = 0; i < 100; i++) {
      scheduler.ready(job);
      expect(loop.macro).toHaveLength(0);
      loop.microtasks();
    }
    expect(runs).toBe(101);
  });

  test("begins in a macrotask once many turns in microtasks have used up the budget of messages", () => {
    const { loop, scheduler } = bench({ turnMessages: 50 });
    const job = new Job("job");
    scheduler.ready(job);
    loop.run();
    let without = 0;
    for (; loop.macro.length === 0 && without < 1_000; without++) {
      loop.microtasks();
      scheduler.ready(job);
    }
    expect(without).toBe(50);
  });

  test("begins in a macrotask once the budget of time is used up, also by other code", () => {
    const { loop, scheduler } = bench({ turnMs: 5 });
    const job = new Job("job");
    scheduler.ready(job);
    loop.run();
    loop.time += 6;
    scheduler.ready(job);
    loop.microtasks();
    expect(loop.macro).toHaveLength(1);
  });

  test("that an error interrupts does not stop the turns after it", () => {
    const { loop, scheduler } = bench();
    let ran = false;
    scheduler.ready(
      new Job("broken", () => {
        throw new Error("a bug in the scheduler's client");
      }),
    );
    scheduler.ready(
      new Job("next", () => {
        ran = true;
        return undefined;
      }),
    );
    expect(() => loop.run()).toThrow("a bug in");
    loop.run();
    expect(ran).toBe(true);
  });

  test("is scheduled when code waits for the end of a turn, even if no process is ready", () => {
    const loop = new SteppedLoop();
    let ended = 0;
    const scheduler = new TurnScheduler(
      {
        fireTimers: () => undefined,
        turnEnded: () => {
          ended++;
        },
        nextTimer: () => undefined,
        longTurn: () => undefined,
      },
      loop,
      SYSTEM_DEFAULTS,
    );
    scheduler.nudge();
    scheduler.nudge();
    loop.run();
    expect(ended).toBe(1);
  });
});

describe("idle", () => {
  test.each([0, 10])(
    "waits for work that comes step by step, each of the same amount, %d ms apart",
    async (ms) => {
      const { loop, scheduler } = bench();
      let steps = 0;
      const job = new Job("job", () => {
        steps++;
        return undefined;
      });
      scheduler.ready(job);
      loop.run();
      const feed = (): void => {
        scheduler.ready(job);
        if (steps < 10) loop.later(feed);
      };
      feed();
      let seen = -1;
      void scheduler.idle().then(() => {
        seen = steps;
      });
      for (let i = 0; i < 100; i++) {
        loop.step();
        loop.time += ms;
        await Promise.resolve();
      }
      expect(steps).toBeGreaterThanOrEqual(10);
      expect(seen).toBe(steps);
    },
  );
});

describe("a stopped scheduler", () => {
  test("runs nothing, schedules nothing and holds nothing of the host", async () => {
    const { loop, scheduler, timers } = bench();
    let ran = 0;
    const job = new Job("job", () => {
      ran++;
      return undefined;
    });
    timers.push(100);
    scheduler.alarm();
    scheduler.ready(job);
    scheduler.stop();
    loop.run();
    expect(loop.armed).toEqual([]);
    for (let i = 0; i < 600; i++) scheduler.ready(job);
    scheduler.nudge();
    scheduler.resumed(job);
    scheduler.alarm();
    timers.length = 0;
    scheduler.alarm();
    expect({ micro: loop.micro.length, macro: loop.macro.length, armed: loop.armed }).toEqual({
      micro: 0,
      macro: 0,
      armed: [],
    });
    await scheduler.idle();
    expect(ran).toBe(0);
  });

  test("stops at once when `stop` is called within a turn", () => {
    const { loop, scheduler } = bench();
    let ran = 0;
    const job = new Job("job", () => {
      ran++;
      if (ran === 3) scheduler.stop();
      return undefined;
    });
    for (let i = 0; i < 10; i++) scheduler.ready(job);
    loop.run();
    expect(ran).toBe(3);
    expect(loop.macro).toHaveLength(0);
  });
});

describe("code that awaits", () => {
  /** A continuation: what `resume` settles goes on in a microtask. */
  function continuation(loop: SteppedLoop, run: () => void): Resumption & { resumed: boolean } {
    const one = {
      owner: undefined,
      resumed: false,
      resume: () => {
        one.resumed = true;
        loop.soon(run);
      },
    };
    return one;
  }

  test("continues at once while there are few continuations, in the order in which their promises were settled", () => {
    const { loop, scheduler } = bench();
    const order: number[] = [];
    const all = Array.from({ length: 100 }, (_, n) => continuation(loop, () => order.push(n)));
    for (const one of all) scheduler.resume(one);
    expect(all.filter((one) => one.resumed)).toEqual([all[0]]);
    loop.run();
    expect(order).toEqual(all.map((_, n) => n));
  });

  test("is released at most 16 continuations at a time, and one at a time once they are slow", () => {
    const { loop, scheduler } = bench({ turnMs: 5 });
    let between = 0;
    let most = 0;
    let cost = 0;
    const run = (): void => {
      most = Math.max(most, ++between);
      loop.time += cost;
    };
    const settle = (count: number): void => {
      scheduler.ready(
        new Job("server", () => {
          for (let n = 0; n < count; n++) scheduler.resume(continuation(loop, run));
          return undefined;
        }),
      );
      while (loop.micro.length > 0 || loop.macro.length > 0) {
        between = 0;
        const waiting = loop.micro.splice(0);
        if (waiting.length === 0) loop.macro.shift()?.();
        for (const fn of waiting) fn();
      }
    };
    settle(1_000);
    expect(most).toBe(16);
    cost = 2;
    settle(16);
    most = 0;
    settle(100);
    expect(most).toBe(1);
  });

  test("delays ready processes no longer than the continuations take", () => {
    const { loop, scheduler } = bench();
    const log: string[] = [];
    scheduler.ready(
      new Job("server", () => {
        for (let n = 0; n < 40; n++) scheduler.resume(continuation(loop, () => log.push("resumed")));
        return undefined;
      }),
    );
    scheduler.ready(new Job("next", () => void log.push("next")));
    loop.run();
    expect(log.filter((one) => one === "resumed")).toHaveLength(40);
    expect(log).toContain("next");
  });

  test("continues when the scheduler stops, and without delay afterwards", () => {
    const { loop, scheduler } = bench();
    const all = Array.from({ length: 50 }, () => continuation(loop, () => undefined));
    for (const one of all.slice(0, 40)) scheduler.resume(one);
    scheduler.stop();
    for (const one of all.slice(40)) scheduler.resume(one);
    expect(all.every((one) => one.resumed)).toBe(true);
  });

  test("counts against the budget of messages", () => {
    const { loop, scheduler } = bench({ turnMessages: 50 });
    let goes = 0;
    const again = (): void => {
      if (goes < 200) scheduler.resume(continuation(loop, again));
      goes++;
    };
    scheduler.resume(continuation(loop, again));
    loop.microtasks();
    expect(goes).toBeLessThanOrEqual(51);
    expect(loop.macro).toHaveLength(1);
    loop.run();
    expect(goes).toBe(201);
  });
});

describe("the end of a turn, at which timeouts of calls begin,", () => {
  function count(limits: Partial<TurnLimits> = {}) {
    const loop = new SteppedLoop();
    const counted = { ends: 0 };
    const host = {
      fireTimers: () => undefined,
      turnEnded: () => void counted.ends++,
      nextTimer: () => undefined,
      longTurn: () => undefined,
    };
    return { loop, counted, scheduler: new TurnScheduler(host, loop, { ...SYSTEM_DEFAULTS, ...limits }) };
  }

  test("comes after the continuations in microtasks behind the turn, but no later than the end of the budget", () => {
    const { loop, counted, scheduler } = count({ turnMs: 5 });
    let left = 12;
    const again = (): void => {
      loop.time += 1;
      if (left-- > 0) scheduler.resume({ owner: undefined, resume: () => loop.soon(again) });
    };
    scheduler.ready(new Job("first", () => void again()));
    loop.run();
    // 13 steps of a millisecond, five in each budget: two are used up, and one is left over.
    expect(left).toBe(-1);
    expect(counted.ends).toBe(3);
  });

  test("comes even if the released continuations do nothing", () => {
    const { loop, counted, scheduler } = count();
    scheduler.resume({ owner: undefined, resume: () => undefined });
    loop.run();
    expect(counted.ends).toBeGreaterThanOrEqual(1);
  });
});
