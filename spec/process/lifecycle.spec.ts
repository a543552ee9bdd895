// The life of a process made from callbacks: init, one message after the other, terminate.

import { type Callbacks, custom, type ExitReason, ignore, type Pid, System, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { endings, puppet } from "../support/puppet.js";

let clock: TestClock;
let system: System;
let ends: Map<Pid, ExitReason>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  ends = endings(system);
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

const broken = custom("broken");

describe("a process made from callbacks", () => {
  it("runs init before its first message, in a turn of its own", async () => {
    const log: unknown[] = [];
    const pid = system.spawn<number>({
      init: () => void log.push("init"),
      handle: (_ctx, n) => void log.push(n),
    });
    system.send(pid, 1);
    expect(log).toEqual([]);
    await system.idle();
    expect(log).toEqual(["init", 1]);
  });

  it("awaits an asynchronous init before its first message", async () => {
    const log: unknown[] = [];
    const { promise, open } = gate();
    const pid = system.spawn<number>({
      init: async () => {
        await promise;
        log.push("init");
      },
      handle: (_ctx, n) => void log.push(n),
    });
    system.send(pid, 1);
    await system.idle();
    expect(log).toEqual([]);
    open();
    await system.idle();
    expect(log).toEqual(["init", 1]);
  });

  it("awaits an asynchronous handler before its next message, while other processes run [P1]", async () => {
    const log: unknown[] = [];
    const { promise, open } = gate();
    const pid = system.spawn<number>({
      handle: async (_ctx, n) => {
        log.push(`${n} begins`);
        await promise;
        log.push(`${n} ends`);
      },
    });
    const other = system.spawn<string>({ handle: (_ctx, text) => void log.push(text) });
    system.send(pid, 1);
    system.send(pid, 2);
    system.send(other, "another");
    await system.idle();
    expect(log).toEqual(["1 begins", "another"]);
    open();
    await system.idle();
    expect(log).toEqual(["1 begins", "another", "1 ends", "2 begins", "2 ends"]);
  });

  it("awaits an asynchronous signal callback before its next message", async () => {
    const log: unknown[] = [];
    const { promise, open } = gate();
    const target = puppet(system);
    const pid = system.spawn<number>({
      init: (ctx) => {
        ctx.monitor(target.pid);
      },
      handle: (_ctx, n) => void log.push(n),
      signal: async (_ctx, signal) => {
        await promise;
        log.push(signal.type);
      },
    });
    await system.idle();
    system.exit(target.pid, "kill");
    system.send(pid, 1);
    await system.idle();
    expect(log).toEqual([]);
    open();
    await system.idle();
    expect(log).toEqual(["down", 1]);
  });

  it.each<[string, Callbacks<number>]>([
    ["returned", { handle: () => stop(broken) }],
    ["returned in a promise", { handle: async () => stop(broken) }],
    ["thrown by ctx.exit", { handle: (ctx) => ctx.exit(broken) }],
    ["thrown by ctx.exit in the first step of a promise", { handle: async (ctx) => ctx.exit(broken) }],
    [
      "thrown by ctx.exit after an await",
      {
        handle: async (ctx) => {
          await null;
          ctx.exit(broken);
        },
      },
    ],
  ])("ends when it says so, %s, and handles nothing more", async (_name, callbacks) => {
    let handled = 0;
    const late: unknown[] = [];
    system.events.on("lateError", (error) => late.push(error));
    const pid = system.spawn<number>({
      handle: (ctx, n) => {
        handled++;
        return callbacks.handle(ctx, n);
      },
    });
    system.send(pid, 1);
    system.send(pid, 2);
    await system.idle();
    expect(ends.get(pid)).toBe(broken);
    expect(handled).toBe(1);
    expect(system.deadLetters).toBe(1);
    expect(late).toEqual([]);
  });

  it.each<[string, Callbacks<never>["init"], ExitReason]>([
    [
      "throws",
      () => {
        throw new Error("no paper");
      },
      { type: "crash", error: new Error("no paper") },
    ],
    [
      "rejects",
      async () => {
        throw new Error("no ink");
      },
      { type: "crash", error: new Error("no ink") },
    ],
    ["returns stop", () => stop(broken), broken],
    ["returns stop in a promise", async () => stop(broken), broken],
    ["calls ctx.exit", (ctx) => ctx.exit(broken), broken],
    ["calls ctx.exit in the first step of a promise", async (ctx) => ctx.exit(broken), broken],
    ["is to be ignored", () => ignore, { type: "normal" }],
  ])("whose init %s ends once, without handling and without terminate [P8]", async (_name, init, reason) => {
    const log: string[] = [];
    let told = 0;
    system.events.on("exit", () => told++);
    const pid = system.spawn<never>({
      ...(init === undefined ? {} : { init }),
      handle: () => void log.push("handle"),
      terminate: () => void log.push("terminate"),
    });
    system.send(pid, "message" as never);
    await system.idle();
    expect(ends.get(pid)).toEqual(reason);
    expect(log).toEqual([]);
    expect(told).toBe(1);
    expect(system.population).toBe(0);
  });
});

describe("terminate", () => {
  function watched(
    callbacks: Partial<Callbacks<string>>,
    trapExit = false,
  ): { pid: Pid<string>; log: ExitReason[] } {
    const log: ExitReason[] = [];
    const pid = system.spawn<string>(
      { handle: () => undefined, terminate: (_ctx, reason) => void log.push(reason), ...callbacks },
      { trapExit },
    );
    return { pid, log };
  }

  it("runs with the reason when the process stops, before any process is notified of the end [P8]", async () => {
    const { pid, log } = watched({ handle: () => stop(broken) });
    system.send(pid, "go");
    await system.idle();
    expect(log).toEqual([broken]);
    expect(ends.get(pid)).toBe(broken);
  });

  it("runs when a callback throws [P8]", async () => {
    const error = new Error("boom");
    const { pid, log } = watched({
      handle: () => {
        throw error;
      },
    });
    system.send(pid, "go");
    await system.idle();
    expect(log).toEqual([{ type: "crash", error }]);
  });

  it("runs when an asynchronous callback rejects", async () => {
    const { pid, log } = watched({
      handle: async () => {
        await null;
        throw new Error("boom");
      },
    });
    system.send(pid, "go");
    await system.idle();
    expect(log).toMatchObject([{ type: "crash" }]);
    expect(ends.get(pid)).toBe(log[0]);
  });

  it("runs when the process traps exits and its parent tells it to stop [P8]", async () => {
    const log: ExitReason[] = [];
    const parent = puppet(system);
    const child = await parent.do((ctx) =>
      ctx.spawnLink<never>(
        { handle: () => undefined, terminate: (_ctx, reason) => void log.push(reason) },
        { trapExit: true },
      ),
    );
    await parent.do((ctx) => ctx.exit(child, "shutdown"));
    await system.idle();
    expect(log).toEqual([{ type: "shutdown" }]);
    expect(ends.get(child)).toEqual({ type: "shutdown" });
  });

  it("runs when the process traps exits and its parent ends, even normally", async () => {
    const log: ExitReason[] = [];
    system.spawn((ctx) => {
      ctx.spawnLink<never>(
        { handle: () => undefined, terminate: (_ctx, reason) => void log.push(reason) },
        { trapExit: true },
      );
    });
    await system.idle();
    expect(log).toEqual([{ type: "normal" }]);
    expect(system.population).toBe(0);
  });

  it("runs when a process started from outside traps exits and is told to stop from outside", async () => {
    const { pid, log } = watched({}, true);
    system.exit(pid, broken);
    await system.idle();
    expect(log).toEqual([broken]);
    expect(ends.get(pid)).toBe(broken);
  });

  it("does not run for an EXIT from a process other than the parent: `signal` gets this EXIT", async () => {
    const signals: unknown[] = [];
    const { pid, log } = watched({ signal: (_ctx, signal) => void signals.push(signal) }, true);
    const stranger = puppet(system);
    await stranger.do((ctx) => ctx.exit(pid, broken));
    await system.idle();
    expect(signals).toEqual([{ type: "exit", from: stranger.pid, reason: broken }]);
    expect(log).toEqual([]);
    expect(system.isAlive(pid)).toBe(true);
  });

  it("does not run at a kill, nor at an exit signal that is not trapped [P8]", async () => {
    const killed = watched({}, true);
    const told = watched({});
    await system.idle();
    system.exit(killed.pid, "kill");
    system.exit(told.pid, "shutdown");
    await system.idle();
    expect(ends.get(killed.pid)).toEqual({ type: "killed" });
    expect(ends.get(told.pid)).toEqual({ type: "shutdown" });
    expect([...killed.log, ...told.log]).toEqual([]);
  });

  it("may be asynchronous: the end waits for it, and a kill does not", async () => {
    const doors = [gate(), gate()];
    const [first, second] = doors.map((door) =>
      watched({ handle: () => stop(broken), terminate: () => door.promise }),
    );
    for (const one of [first, second]) system.send(one?.pid as Pid<string>, "go");
    await system.idle();
    expect(ends.size).toBe(0);
    expect(system.info(first?.pid as Pid)?.status).toBe("terminating");
    doors[0]?.open();
    await system.idle();
    expect(ends.get(first?.pid as Pid)).toBe(broken);
    system.exit(second?.pid as Pid, "kill");
    expect(ends.get(second?.pid as Pid)).toEqual({ type: "killed" });
  });

  it("that is asynchronous is awaited also after ctx.exit, whose throw is not a second failure", async () => {
    const { promise, open } = gate();
    const sync = watched({ handle: (ctx) => ctx.exit(broken), terminate: () => promise });
    const async = watched({
      handle: async (ctx) => {
        await null;
        ctx.exit(broken);
      },
      terminate: () => promise,
    });
    for (const { pid } of [sync, async]) system.send(pid, "go");
    await system.idle();
    expect(ends.size).toBe(0);
    open();
    await system.idle();
    expect([ends.get(sync.pid), ends.get(async.pid)]).toEqual([broken, broken]);
  });

  it("that is asynchronous blocks messages: no message is handled during or after it, and init never runs again", async () => {
    const { promise, open } = gate();
    const log: string[] = [];
    let crash: (() => void) | undefined;
    const pid = system.spawn<string>({
      init: (ctx) => {
        log.push("init");
        crash = ctx.wrap(() => {
          throw new Error("socket closed");
        });
      },
      handle: (_ctx, message) => void log.push(message),
      terminate: () => promise,
    });
    await system.idle();
    system.send(pid, "waiting already");
    crash?.();
    await system.idle();
    open();
    await system.idle();
    expect(log).toEqual(["init"]);
    expect(ends.get(pid)).toMatchObject({ type: "crash", error: { message: "socket closed" } });
  });

  it("that throws makes its error the reason", async () => {
    const { pid } = watched({
      handle: () => stop(broken),
      terminate: () => {
        throw new Error("cannot even stop");
      },
    });
    system.send(pid, "go");
    await system.idle();
    expect(ends.get(pid)).toMatchObject({ type: "crash", error: { message: "cannot even stop" } });
  });

  it("that rejects makes its error the reason", async () => {
    const { pid } = watched({
      handle: () => stop(broken),
      terminate: async () => {
        throw new Error("cannot even stop");
      },
    });
    system.send(pid, "go");
    await system.idle();
    expect(ends.get(pid)).toMatchObject({ type: "crash", error: { message: "cannot even stop" } });
  });

  it("can still use every operation: its effects are not refused", async () => {
    const other = puppet(system);
    const { pid } = watched({
      handle: () => stop(),
      terminate: (ctx) => ctx.send(other.pid, (self) => self.register("told")),
    });
    system.send(pid, "go");
    await system.idle();
    expect(system.whereis("told")).toBe(other.pid);
    expect(ends.get(pid)).toEqual({ type: "normal" });
  });
});
