// Who is reported for holding up the others.

import { type Pid, SYSTEM_DEFAULTS, System } from "signalbox";
import { describe, expect, test, vi } from "vitest";
import { TurnScheduler } from "../../lib/process/scheduler.js";
import { testClock } from "../../lib/testing/kit/clock.js";
import { type Bench, bench, Job, type SteppedLoop } from "../support/stepped.js";

describe("a long turn", () => {
  test("is reported with the process that caused it, when that process ran alone [C8]", () => {
    const { loop, scheduler, long } = bench({ longTurnMs: 50 });
    scheduler.ready(
      new Job("hog", () => {
        loop.time += 80;
        return undefined;
      }),
    );
    loop.run();
    expect(long).toEqual([{ suspects: ["hog"], elapsedMs: 80 }]);
  });

  test("is not reported below the limit", () => {
    const { loop, scheduler, long } = bench({ longTurnMs: 50 });
    scheduler.ready(
      new Job("quick", () => {
        loop.time += 49;
        return undefined;
      }),
    );
    loop.run();
    expect(long).toEqual([]);
  });

  test("never names a process that did not run, however many became ready meanwhile", () => {
    const { loop, scheduler, long } = bench({ longTurnMs: 50 });
    scheduler.ready(
      new Job("hog", () => {
        for (let i = 0; i < 5_000; i++) scheduler.ready(new Job("innocent"));
        loop.time += 80;
        return undefined;
      }),
    );
    loop.run();
    expect(long).toEqual([{ suspects: ["hog"], elapsedMs: 80 }]);
  });

  test("still names the culprit when the queue grew during the turn", () => {
    const { loop, scheduler, long } = bench({ longTurnMs: 50 });
    scheduler.ready(new Job("first"));
    scheduler.ready(
      new Job("hog", () => {
        loop.time += 80;
        return undefined;
      }),
    );
    scheduler.ready(
      new Job("spawner", () => {
        for (let i = 0; i < 5_000; i++) scheduler.ready(new Job("innocent"));
        return undefined;
      }),
    );
    loop.run();
    expect(long).toEqual([{ suspects: ["hog", "spawner"], elapsedMs: 80 }]);
  });

  test("of many processes names all that ran, the culprit included, and soon the culprit alone", () => {
    for (const crowd of [3, 60, 255, 300, 2_000]) {
      const { loop, scheduler, long } = bench({ longTurnMs: 50 });
      let rounds = 0;
      const others = Array.from(
        { length: crowd },
        (_, i) =>
          new Job(`other ${i}`, (job) => {
            if (rounds < 60) scheduler.ready(job);
            return undefined;
          }),
      );
      const hog = new Job("hog", (job) => {
        rounds++;
        if (rounds >= 30) loop.time += 80;
        if (rounds < 60) scheduler.ready(job);
        return undefined;
      });
      for (const job of [...others, hog]) scheduler.ready(job);
      loop.run();
      expect(long.length).toBeGreaterThan(1);
      for (const { suspects } of long) expect(suspects).toContain("hog");
      for (const { suspects } of long) expect(suspects.length === 1 ? suspects : ["hog"]).toEqual(["hog"]);
      if (crowd < 1_000) expect(long.slice(0, 3).map((one) => one.suspects)).toContainEqual(["hog"]);
    }
  });

  test("counts code that continues in microtasks after the turn, and names its process", () => {
    const { loop, scheduler, long } = bench({ longTurnMs: 50 });
    scheduler.ready(
      new Job("body", (job) => {
        scheduler.resumed(job);
        loop.soon(() => {
          loop.time += 70;
        });
        return undefined;
      }),
    );
    loop.run();
    expect(long).toEqual([{ suspects: ["body"], elapsedMs: 70 }]);
  });

  test("counts code that a timer woke, and names the process once", () => {
    const { loop, long } = bench();
    const job = new Job("body");
    let pending: number | undefined = 10;
    const woken = new TurnScheduler(
      {
        fireTimers: () => {
          pending = undefined;
          woken.resumed(job);
          woken.resumed(job);
          loop.soon(() => {
            loop.time += 70;
          });
        },
        turnEnded: () => undefined,
        nextTimer: () => pending,
        longTurn: (suspects, elapsedMs) => {
          long.push({ suspects: suspects.map((one) => (one as Job).name), elapsedMs });
        },
      },
      loop,
      SYSTEM_DEFAULTS,
    );
    woken.alarm();
    loop.ring();
    loop.microtasks();
    expect(long).toEqual([{ suspects: ["body"], elapsedMs: 70 }]);
  });
});

describe("the event `longTurn`", () => {
  function listen(system: System): { readonly suspects: readonly Pid[]; readonly elapsedMs: number }[] {
    const long: { readonly suspects: readonly Pid[]; readonly elapsedMs: number }[] = [];
    system.events.on("longTurn", (event) => long.push(event));
    return long;
  }

  test("names the process whose callback took long", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment });
    const long = listen(system);
    const hog = system.spawn<number>({
      handle: (_ctx, ms) => {
        clock.elapse(ms);
      },
    });
    system.send(hog, 49);
    await system.idle();
    expect(long).toEqual([]);
    system.send(hog, 200);
    await system.idle();
    expect(long).toEqual([{ suspects: [hog], elapsedMs: 200 }]);
  });

  test("names the function body that took long after a receive", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment });
    const long = listen(system);
    const hog = system.spawn<number>(async (ctx) => {
      for (;;) clock.elapse(await ctx.receive());
    });
    system.send(hog, 49);
    await system.idle();
    expect(long).toEqual([]);
    system.send(hog, 75);
    await system.idle();
    expect(long).toEqual([{ suspects: [hog], elapsedMs: 75 }]);
  });
});

describe("a chain of calls, each a turn and a continuation", () => {
  /** Each activation lets `caller` go on, and that makes the callee ready again. */
  function chain(
    rounds: number,
    round: (number: number, loop: SteppedLoop) => void,
  ): {
    readonly left: number;
    readonly long: Bench["long"];
    readonly looks: number;
    readonly goes: number;
  } {
    const { loop, scheduler, long } = bench({ longTurnMs: 50 });
    let left = rounds;
    const caller = new Job("caller");
    const callee = new Job("callee", () => {
      scheduler.resume({
        owner: caller,
        resume: () =>
          loop.soon(() => {
            round(rounds - left, loop);
            if (--left > 0) scheduler.ready(callee);
          }),
      });
      return undefined;
    });
    scheduler.ready(callee);
    const looks = vi.spyOn(loop, "now");
    const goes = vi.spyOn(loop, "later");
    loop.run();
    return { left, long, looks: looks.mock.calls.length, goes: goes.mock.calls.length };
  }

  test("reads the clock less than once in four calls while it is fast", () => {
    const { left, looks } = chain(4_000, () => undefined);
    expect(left).toBe(0);
    expect(looks).toBeLessThan(1_000);
  });

  test("lets the host run each time the budget of 5 ms is used up", () => {
    const { left, goes } = chain(4_000, (_, loop) => {
      loop.time += 0.01;
    });
    expect(left).toBe(0);
    expect(goes).toBeGreaterThanOrEqual((4_000 * 0.01) / 5 - 1);
  });

  test("names a slow caller among few others, and alone at the second time", () => {
    const { long } = chain(4_000, (number, loop) => {
      if (number === 2_000 || number === 2_100) loop.time += 80;
    });
    expect(long).toEqual([
      { suspects: ["caller", "callee"], elapsedMs: 80 },
      { suspects: ["caller"], elapsedMs: 80 },
    ]);
  });
});
