// Timers of processes: they send a message or run a function of their owner, and die with it.

import { type Context, type Pid, System, stop, type TimerRef } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { puppet } from "../support/puppet.js";

let clock: TestClock;
let system: System;
let got: unknown[];
let inbox: Pid<unknown>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  got = [];
  inbox = system.spawn({ handle: (ctx, message) => void got.push([ctx.now(), message]) }, { name: "inbox" });
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

describe("sendAfter", () => {
  it("sends after the delay, to a pid or a name", async () => {
    const owner = puppet(system);
    await owner.do((ctx) => {
      ctx.sendAfter(inbox, "pid", 20);
      ctx.sendAfter("inbox", "name", 10);
    });
    await clock.advance(9);
    expect(got).toEqual([]);
    await clock.advance(100);
    expect(got).toEqual([
      [10, "name"],
      [20, "pid"],
    ]);
  });

  it("keeps the order of timers that are due together [C4]", async () => {
    const owner = puppet(system);
    await owner.do((ctx) => {
      for (const n of [1, 2, 3]) ctx.sendAfter(inbox, n, 10);
    });
    await clock.advance(10);
    expect(got.map((entry) => (entry as unknown[])[1])).toEqual([1, 2, 3]);
  });

  it("after 0 ms sends in a later turn", async () => {
    const owner = puppet(system);
    const timer = await owner.do((ctx) => ctx.sendAfter(inbox, "soon", 0));
    expect(timer.pending).toBe(true);
    await clock.advance(0);
    expect(got).toEqual([[0, "soon"]]);
    expect(timer.pending).toBe(false);
  });

  it("looks the name up when the timer is due", async () => {
    const owner = puppet(system);
    await owner.do((ctx) => ctx.sendAfter("later", "hello", 10));
    system.unregister("inbox");
    system.register("later", inbox);
    await clock.advance(10);
    expect(got).toEqual([[10, "hello"]]);
  });

  it("to a process that has ended before the timer fires is a dead letter", async () => {
    const owner = puppet(system);
    await owner.do((ctx) => ctx.sendAfter(inbox, "too late", 10));
    system.exit(inbox, "kill");
    await clock.advance(10);
    expect(system.deadLetters).toBe(1);
  });

  it("to a full mailbox that rejects is a dead letter; timers after it still fire", async () => {
    const letters: unknown[] = [];
    system.events.on("deadLetter", ({ message, reason }) => letters.push([message, reason]));
    const full = system.spawn<string>((ctx) => ctx.receive(() => false), {
      mailbox: { capacity: 1, overflow: "reject" },
    });
    system.send(full, "fills it");
    const owner = puppet(system);
    await owner.do((ctx) => {
      ctx.sendAfter(full, "refused", 10);
      ctx.sendAfter(inbox, "accepted", 10);
      ctx.sendAfter(inbox, "later", 20);
    });
    system.sendAfter(full, "refused too", 10);
    await clock.advance(20);
    expect(letters).toEqual([
      ["refused", "mailbox-full"],
      ["refused too", "mailbox-full"],
    ]);
    expect(got.map((entry) => (entry as unknown[])[1])).toEqual(["accepted", "later"]);
    expect(system.isAlive(owner.pid)).toBe(true);
  });

  it("from outside belongs to no process and can be cancelled there", async () => {
    const kept = system.sendAfter(inbox, "kept", 10);
    const dropped = system.sendAfter("inbox", "dropped", 10);
    expect(system.cancel(dropped)).toBe(true);
    await clock.advance(10);
    expect(got).toEqual([[10, "kept"]]);
    expect(system.cancel(kept)).toBe(false);
  });
});

describe("sendInterval", () => {
  it("ends with its receiver: one dead letter, not one for every period", async () => {
    const owner = puppet(system);
    const target = system.spawn<string>({ handle: () => undefined });
    const timer = await owner.do((ctx) => ctx.sendInterval(target, "tick", 10));
    system.exit(target, "kill");
    await clock.advance(100);
    expect(system.deadLetters).toBe(1);
    expect((timer as TimerRef).pending).toBe(false);
  });

  it("sends after each period until the timer is cancelled", async () => {
    const owner = puppet(system);
    const timer = await owner.do((ctx) => ctx.sendInterval(inbox, "tick", 10));
    await clock.advance(35);
    expect(got.map((entry) => (entry as unknown[])[0])).toEqual([10, 20, 30]);
    expect(timer.pending).toBe(true);
    expect(await owner.do((ctx) => ctx.cancel(timer))).toBe(true);
    await clock.advance(100);
    expect(got).toHaveLength(3);
    expect(system.kernel.pendingTimers).toBe(0);
  });

  it("keeps its rhythm after a delay, and does not send for the periods it missed", async () => {
    const owner = puppet(system);
    await owner.do((ctx) => ctx.sendInterval(inbox, "tick", 10));
    await clock.settle();
    clock.elapse(37);
    await clock.advance(0);
    expect(got.map((entry) => (entry as unknown[])[0])).toEqual([37]);
    await clock.advance(13);
    expect(got.map((entry) => (entry as unknown[])[0])).toEqual([37, 40, 50]);
  });

  it("can be cancelled by the code that it runs", async () => {
    let ticks = 0;
    let timer: TimerRef | undefined;
    system.spawn<"tick">({
      init: (ctx) => {
        timer = ctx.sendInterval(ctx.self, "tick", 10);
      },
      handle: (ctx) => {
        if (++ticks === 2) ctx.cancel(timer as TimerRef);
      },
    });
    await clock.advance(100);
    expect(ticks).toBe(2);
  });
});

describe("after", () => {
  it("runs its function between the messages of callbacks, not while a message is handled", async () => {
    const log: string[] = [];
    let open: () => void = () => undefined;
    const pid = system.spawn<string>({
      init: (ctx) => void ctx.runAfter(10, () => log.push("timer")),
      handle: async (_ctx, message) => {
        log.push(`${message} begins`);
        await new Promise<void>((resolve) => {
          open = resolve;
        });
        log.push(`${message} ends`);
      },
    });
    system.send(pid, "message");
    await clock.advance(10);
    expect(log).toEqual(["message begins"]);
    open();
    await system.idle();
    expect(log).toEqual(["message begins", "message ends", "timer"]);
  });

  it("does not run its function when it is cancelled after it fired, while the function waits for its turn [C840]", async () => {
    const log: unknown[] = [];
    let open: () => void = () => undefined;
    let timer: TimerRef | undefined;
    const pid = system.spawn<string>({
      init: (ctx) => {
        timer = ctx.runAfter(10, () => log.push("timer"));
      },
      handle: async (ctx) => {
        await new Promise<void>((resolve) => {
          open = resolve;
        });
        for (let i = 0; i < 2; i++) log.push(ctx.cancel(timer as TimerRef));
      },
    });
    system.send(pid, "message");
    await clock.advance(10);
    open();
    await system.idle();
    expect(log).toEqual([true, false]);
  });

  it("runs its function while a body waits", async () => {
    const log: string[] = [];
    system.spawn(async (ctx) => {
      ctx.runAfter(10, () => log.push("timer"));
      await ctx.receive();
    });
    await clock.advance(10);
    expect(log).toEqual(["timer"]);
  });

  it.each<[string, (ctx: Context<never>) => unknown]>([
    ["calling ctx.exit", (ctx) => ctx.exit("shutdown")],
    ["returning stop", () => stop("shutdown")],
  ])("may end the process by %s, of whichever kind it is", async (_how, end) => {
    const pid = system.spawn<never>({
      init: (ctx) => void ctx.runAfter(10, () => end(ctx)),
      handle: () => undefined,
    });
    const body = system.spawn<never>((ctx) => {
      ctx.runAfter(10, () => end(ctx));
      return ctx.receive();
    });
    const reasons = Promise.all([system.exited(pid), system.exited(body)]);
    await clock.advance(10);
    expect(await reasons).toEqual([{ type: "shutdown" }, { type: "shutdown" }]);
  });
});

describe("a timer", () => {
  it("ends with its owner, for every kind of timer", async () => {
    const owner = puppet(system);
    const timers = await owner.do((ctx) => [
      ctx.sendAfter(inbox, "late", 10),
      ctx.sendInterval(inbox, "tick", 10),
      ctx.runAfter(10, () => got.push("ran")),
    ]);
    system.exit(owner.pid, "kill");
    expect(timers.map((timer) => timer.pending)).toEqual([false, false, false]);
    expect(system.kernel.pendingTimers).toBe(0);
    await clock.advance(100);
    expect(got).toEqual([]);
  });

  it("cancelled in time does nothing, and `cancel` returns whether it was in time", async () => {
    const owner = puppet(system);
    const timer = await owner.do((ctx) => ctx.sendAfter(inbox, "never", 10));
    expect(await owner.do((ctx) => ctx.cancel(timer))).toBe(true);
    expect(await owner.do((ctx) => ctx.cancel(timer))).toBe(false);
    await clock.advance(100);
    expect(got).toEqual([]);
    const fired = await owner.do((ctx) => ctx.sendAfter(inbox, "fires", 10));
    await clock.advance(10);
    expect(await owner.do((ctx) => ctx.cancel(fired))).toBe(false);
  });

  it("may be cancelled by a process other than its owner", async () => {
    const [owner, other] = [puppet(system), puppet(system)];
    const timer = await owner.do((ctx) => ctx.sendAfter(inbox, "never", 10));
    expect(await other.do((ctx) => ctx.cancel(timer))).toBe(true);
    await clock.advance(10);
    expect(got).toEqual([]);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "10"])(
    "after %s is refused, and no timer is left",
    async (bad) => {
      const owner = puppet(system);
      const ms = bad as number;
      await expect(owner.do((ctx) => ctx.sendAfter(inbox, 1, ms))).rejects.toMatchObject({
        code: "ERR_OPTION",
        path: "delayMs",
      });
      await expect(owner.do((ctx) => ctx.runAfter(ms, () => 1))).rejects.toMatchObject({
        code: "ERR_OPTION",
        path: "delayMs",
      });
      await expect(owner.do((ctx) => ctx.sendInterval(inbox, 1, ms))).rejects.toMatchObject({
        code: "ERR_OPTION",
        path: "periodMs",
      });
      expect(system.kernel.pendingTimers).toBe(0);
    },
  );

  it("with a period of 0 is refused: no other code would ever run", async () => {
    const owner = puppet(system);
    await expect(owner.do((ctx) => ctx.sendInterval(inbox, 1, 0))).rejects.toMatchObject({
      path: "periodMs",
    });
  });
});
