// The one host timer behind all timers of a system.

import { SYSTEM_DEFAULTS, System } from "signalbox";
import { describe, expect, test, vi } from "vitest";
import { production } from "../../lib/process/production.js";
import { TurnScheduler } from "../../lib/process/scheduler.js";
import { testClock } from "../../lib/testing/kit/clock.js";
import { bench, SteppedLoop } from "../support/stepped.js";

describe("the alarm", () => {
  test("is set for the earliest deadline, and moved only for an earlier deadline", () => {
    const { loop, scheduler, timers } = bench();
    timers.splice(0, 0, 100);
    scheduler.alarm();
    timers.splice(0, 0, 50);
    scheduler.alarm();
    timers.push(200);
    scheduler.alarm();
    expect(loop.armed).toEqual([50]);
    loop.ring();
    expect(loop.armed).toEqual([100]);
    loop.ring();
    expect(loop.armed).toEqual([200]);
    loop.ring();
    expect(loop.armed).toEqual([]);
  });

  test("is cleared when the last timer is cancelled, so that the event loop can end", () => {
    const { loop, scheduler, timers } = bench();
    timers.push(100);
    scheduler.alarm();
    timers.length = 0;
    scheduler.alarm();
    loop.run();
    expect(loop.armed).toEqual([]);
    timers.push(70);
    scheduler.alarm();
    expect(loop.armed).toEqual([70]);
  });

  test("stays when a new timer is set before the host runs", () => {
    const { loop, scheduler, timers } = bench();
    timers.push(100);
    scheduler.alarm();
    timers.length = 0;
    scheduler.alarm();
    timers.push(120);
    scheduler.alarm();
    loop.run();
    expect(loop.armed).toEqual([100]);
    loop.ring();
    expect(loop.armed).toEqual([120]);
  });

  test("that leaves timers due lets the host run, and then fires the others", () => {
    const loop = new SteppedLoop();
    const timers = [10, 11, 12];
    const scheduler = new TurnScheduler(
      {
        fireTimers: () => void timers.shift(),
        turnEnded: () => undefined,
        nextTimer: () => timers[0],
        longTurn: () => undefined,
      },
      loop,
      SYSTEM_DEFAULTS,
    );
    loop.time = 500;
    scheduler.alarm();
    expect(loop.armed).toEqual([10]);
    loop.ring();
    expect(timers).toEqual([11, 12]);
    expect(loop.armed).toEqual([]);
    loop.microtasks();
    loop.step();
    expect(timers).toEqual([12]);
    loop.run();
    expect(timers).toEqual([]);
    expect(loop.armed).toEqual([]);
  });

  test("survives a timer that throws", () => {
    const loop = new SteppedLoop();
    const timers = [10, 20];
    const scheduler = new TurnScheduler(
      {
        fireTimers: () => {
          timers.shift();
          throw new Error("out of a timer");
        },
        turnEnded: () => undefined,
        nextTimer: () => timers[0],
        longTurn: () => undefined,
      },
      loop,
      SYSTEM_DEFAULTS,
    );
    scheduler.alarm();
    expect(() => loop.ring()).toThrow("out of a timer");
    expect(loop.armed).toEqual([20]);
  });
});

describe("the alarm of the production environment", () => {
  test("waits longer than a host timer can, in stages, and fires only when it is due", () => {
    const armed: { readonly fn: () => void; readonly ms: number }[] = [];
    const set = vi.spyOn(globalThis, "setTimeout").mockImplementation(((fn: () => void, ms: number) => {
      armed.push({ fn, ms });
      return undefined;
    }) as unknown as typeof setTimeout);
    const clock = vi.spyOn(performance, "now").mockReturnValue(1_000);
    try {
      const monthMs = 30 * 24 * 3_600_000;
      let fired = 0;
      let pending: number | undefined = 1_000 + monthMs;
      const scheduler = production.createScheduler(
        {
          fireTimers: () => {
            fired++;
            pending = undefined;
          },
          turnEnded: () => undefined,
          nextTimer: () => pending,
          longTurn: () => undefined,
        },
        SYSTEM_DEFAULTS,
      );
      scheduler.alarm();
      expect(armed.map(({ ms }) => ms)).toEqual([2 ** 31 - 1]);
      clock.mockReturnValue(1_000 + 2 ** 31 - 1);
      armed[0]?.fn();
      expect(fired).toBe(0);
      expect(armed.map(({ ms }) => ms)).toEqual([2 ** 31 - 1, monthMs - 2 ** 31 + 1]);
      clock.mockReturnValue(1_000 + monthMs - 0.25);
      armed[1]?.fn();
      expect(fired).toBe(0);
      expect(armed[2]?.ms).toBe(1);
      clock.mockReturnValue(1_000 + monthMs);
      armed[2]?.fn();
      expect(fired).toBe(1);
      scheduler.stop();
    } finally {
      set.mockRestore();
      clock.mockRestore();
    }
  });

  test("is cleared with the host when the system stops", async () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const clear = vi.spyOn(globalThis, "clearTimeout");
    try {
      const system = new System({ name: "shop" });
      const pid = system.spawn<string>({ handle: () => undefined });
      system.sendAfter(pid, "much later", 3_600_000);
      await system.stop();
      const cleared = new Set(clear.mock.calls.map(([timeout]) => timeout));
      const ours = set.mock.results.map((result) => result.value as unknown);
      expect(ours.length).toBeGreaterThan(0);
      expect(ours.filter((timeout) => !cleared.has(timeout as NodeJS.Timeout))).toEqual([]);
    } finally {
      set.mockRestore();
      clear.mockRestore();
    }
  });
});

describe("timers of a system", () => {
  test("may wait longer than 2^31 milliseconds", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment });
    let got = 0;
    const pid = system.spawn<string>({
      handle: () => {
        got++;
      },
    });
    system.sendAfter(pid, "late", 2 ** 31 + 5);
    await clock.advance(2 ** 31 + 4);
    expect(got).toBe(0);
    await clock.advance(1);
    expect(got).toBe(1);
  });

  test("hold no timer of the host once they are cancelled", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment });
    const pid = system.spawn<string>({ handle: () => undefined });
    const timer = system.sendAfter(pid, "late", 1_000);
    expect(clock.pendingAlarms).toBe(1);
    expect(system.cancel(timer)).toBe(true);
    await clock.settle();
    expect(clock.pendingAlarms).toBe(0);
  });

  test("of a stopped system hold no timer of the host, and new timers cannot be set", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment });
    const pid = system.spawn<string>({ handle: () => undefined });
    system.sendAfter(pid, "late", 1_000);
    await system.stop();
    expect(clock.pendingAlarms).toBe(0);
    system.sendAfter(pid, "sooner", 500);
    expect(clock.pendingAlarms).toBe(0);
  });
});
