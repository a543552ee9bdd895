// After its end a process can do nothing more: what it waited for rejects, and every effect of its ctx is refused.

import { setTimeout as delay } from "node:timers/promises";
import {
  type BodyContext,
  custom,
  type ExitReason,
  type Monitor,
  type Pid,
  ProcessExitedError,
  type ReplyTo,
  type Startable,
  System,
  type TimerRef,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { launch } from "../../lib/process/start.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { endings, puppet, sleep } from "../support/puppet.js";

let clock: TestClock;
let system: System;
let ends: Map<Pid, ExitReason>;
let reports: string[];
let late: unknown[];
let theirs: NodeJS.UnhandledRejectionListener[];

// The test runner's own listeners would take every unhandled rejection for a failed test. Without them, one that the
// library did not give to a process is an uncaught exception, which fails the run.
beforeEach(() => {
  theirs = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  clock = testClock();
  reports = [];
  late = [];
  system = new System({ environment: clock.environment, report: (text) => reports.push(text) });
  ends = endings(system);
  system.events.on("lateError", ({ error }) => late.push(error));
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
  for (const listener of theirs) process.on("unhandledRejection", listener);
});

const boom = new Error("boom");

function _fail(): never {
  throw boom;
}

async function failLater(steps: number): Promise<void> {
  await null;
  if (steps === 0) throw boom;
  await failLater(steps - 1);
}

describe("a wait for the host that `ctx.signal` ended", () => {
  it("ends with the process without a report, which is the purpose of the signal", async () => {
    const pid = system.spawn(async (ctx) => {
      await delay(3_600_000, undefined, { signal: ctx.signal });
    });
    await system.idle();
    system.exit(pid, "kill");
    await system.idle();
    expect(late).toEqual([]);
    expect(reports.filter((text) => text.includes("after its exit"))).toEqual([]);
  });

  it("is reported when another signal ended it [P7]", async () => {
    const other = new AbortController();
    const pid = system.spawn(async () => {
      await delay(3_600_000, undefined, { signal: other.signal });
    });
    await system.idle();
    system.exit(pid, "kill");
    other.abort();
    await system.idle();
    expect(late).toEqual([expect.objectContaining({ name: "AbortError" })]);
  });
});

describe("after its exit", () => {
  async function departed(): Promise<BodyContext<unknown>> {
    let kept: BodyContext<unknown> | undefined;
    const pid = system.spawn((ctx) => {
      kept = ctx;
      return sleep(ctx);
    });
    await system.idle();
    system.exit(pid, custom("broken"));
    return kept as BodyContext<unknown>;
  }

  it("every operation of the process's ctx is refused [P4]", async () => {
    const other = puppet(system, { name: "other" });
    const ref = await other.do((ctx): Monitor => ctx.monitor(ctx.self));
    const timer = await other.do((ctx): TimerRef => ctx.sendAfter(ctx.self, () => undefined, 1_000));
    let replyTo: ReplyTo<number> | undefined;
    const asker = system.call("other", (to: ReplyTo<number>) => {
      replyTo = to;
      return () => undefined;
    });
    asker.catch(() => undefined);
    const ctx = await departed();
    const startable: Startable<readonly [], unknown> = {
      [launch]: () => ({ behaviour: sleep, ref: (pid) => pid }),
    };
    const to = replyTo as ReplyTo<number>;
    const operations: { [name in keyof BodyContext]: (() => unknown) | "allowed" } = {
      self: "allowed",
      parent: "allowed",
      alive: "allowed",
      signal: "allowed",
      wrap: "allowed",
      senderContext: () => ctx.senderContext(),
      now: () => ctx.now(),
      wallTime: () => ctx.wallTime(),
      random: () => ctx.random(),
      buggify: () => ctx.buggify("x"),
      send: () => ctx.send("other", 1),
      call: () => ctx.call("other", () => 1),
      refusal: () => (ctx as unknown as { refusal(): unknown }).refusal(),
      ask: () =>
        ctx.ask(
          "other",
          () => 1,
          () => undefined,
        ),
      reply: () => ctx.reply(to, 1),
      refuse: () => ctx.refuse(to, boom),
      spawn: () => ctx.spawn(sleep),
      spawnLink: () => ctx.spawnLink(sleep),
      spawnMonitor: () => ctx.spawnMonitor(sleep),
      start: () => ctx.start(startable),
      startWith: () => ctx.startWith({}, startable),
      started: () => ctx.started(),
      link: () => ctx.link(other.pid),
      unlink: () => ctx.unlink(other.pid),
      monitor: () => ctx.monitor(other.pid),
      demonitor: () => ctx.demonitor(ref),
      exit: () => ctx.exit(other.pid, "kill"),
      trapExit: () => ctx.trapExit(true),
      sendAfter: () => ctx.sendAfter("other", 1, 0),
      sendInterval: () => ctx.sendInterval("other", 1, 1),
      runAfter: () => ctx.runAfter(0, () => undefined),
      cancel: () => ctx.cancel(timer),
      register: () => ctx.register("late"),
      unregister: () => ctx.unregister(),
      whereis: () => ctx.whereis("other"),
      join: () => ctx.join("late"),
      leave: () => ctx.leave("late"),
      members: () => ctx.members("late"),
      monitorGroup: () => ctx.monitorGroup("late"),
      demonitorGroup: () => ctx.demonitorGroup("late"),
      receive: () => ctx.receive(),
      receiveSignal: () => ctx.receiveSignal(),
      receiveAny: () => ctx.receiveAny(),
      messages: () => ctx.messages(),
    };
    const there = Object.getOwnPropertyNames(Object.getPrototypeOf(ctx)).filter(
      (name) => name !== "constructor",
    );
    expect(Object.keys(operations).sort()).toEqual(there.sort());
    await system.idle();
    const [population, deadLetters, timers] = [
      system.population,
      system.deadLetters,
      system.kernel.pendingTimers,
    ];
    for (const [name, operation] of Object.entries(operations)) {
      if (operation === "allowed") continue;
      const refused = await new Promise((done) => done(operation())).catch((error) => error);
      expect(refused, name).toBeInstanceOf(ProcessExitedError);
      expect(refused, name).toMatchObject({
        code: "ERR_PROCESS_EXITED",
        pid: ctx.self,
        reason: custom("broken"),
      });
    }
    expect(() => ctx.exit()).toThrow(ProcessExitedError);
    await system.idle();
    expect([system.population, system.deadLetters, system.kernel.pendingTimers]).toEqual([
      population,
      deadLetters,
      timers,
    ]);
    expect(other.signals).toEqual([]);
    expect(to.open).toBe(true);
    expect(timer.pending).toBe(true);
    expect([system.whereis("late"), system.members("late")]).toEqual([undefined, []]);
  });

  it("the ctx still has the pid", async () => {
    const ctx = await departed();
    expect(ctx.alive).toBe(false);
    expect(String(ctx.self)).toMatch(/^<system\.\d+>$/);
    expect(ctx.signal.aborted).toBe(true);
    expect(ctx.signal.reason).toBeInstanceOf(ProcessExitedError);
  });

  it("a function that the process wrapped does nothing any more", async () => {
    let runs = 0;
    const ctx = await departed();
    ctx.wrap(() => runs++)();
    expect(runs).toBe(0);
  });

  it("a continuation that meets a refusal ends quietly", async () => {
    let resumed = false;
    const pid = system.spawn(async (ctx) => {
      await failLater(3).catch(() => undefined);
      resumed = true;
      ctx.send("nobody", 1);
    });
    system.spawn(() => system.exit(pid, "kill"));
    await system.idle();
    expect(ends.get(pid)).toEqual({ type: "killed" });
    expect(resumed).toBe(true);
    expect(late).toEqual([]);
    expect(reports.filter((text) => text.includes("after its exit"))).toEqual([]);
    expect(system.deadLetters).toBe(0);
  });

  it("a continuation that meets the refusal of another process is reported as a late error [P7]", async () => {
    const other = await departed();
    const pid = system.spawn(async () => {
      await failLater(3).catch(() => undefined);
      other.send("nobody", 1);
    });
    system.spawn(() => system.exit(pid, "kill"));
    await system.idle();
    expect(ends.get(pid)).toEqual({ type: "killed" });
    expect(late).toEqual([expect.objectContaining({ code: "ERR_PROCESS_EXITED", pid: other.self })]);
  });

  it("a wait of the host that the end of another process aborts is reported as a late error [P7]", async () => {
    const other = await departed();
    const pid = system.spawn(async () => {
      await failLater(3).catch(() => undefined);
      await delay(3_600_000, undefined, { signal: other.signal });
    });
    system.spawn(() => system.exit(pid, "kill"));
    await system.idle();
    expect(ends.get(pid)).toEqual({ type: "killed" });
    expect(late).toEqual([
      expect.objectContaining({ name: "AbortError", cause: expect.objectContaining({ pid: other.self }) }),
    ]);
  });

  it("code that throws while `terminate` runs is reported as a late error, unless it is refused [P7]", async () => {
    const other = await departed();
    const door = gate();
    const pid = system.spawn<never>({
      init: (ctx) => void ctx.trapExit(true),
      handle: () => undefined,
      terminate: async () => {
        void failLater(1);
        void Promise.resolve().then(() => other.send("nobody", 1));
        await door.promise;
      },
    });
    await system.idle();
    system.exit(pid, "shutdown");
    await system.idle();
    expect(system.isAlive(pid)).toBe(true);
    expect(late).toHaveLength(2);
    expect(late).toContain(boom);
    door.open();
    await system.idle();
    expect(ends.get(pid)).toEqual({ type: "shutdown" });
  });

  it.each<[string, () => unknown]>([
    ["throws", () => failLater(3)],
    [
      "leaves a rejection",
      async () => {
        await failLater(1).catch(() => undefined);
        void failLater(1);
      },
    ],
  ])("a continuation that %s is reported as a late error, and printed", async (_name, code) => {
    const pid = system.spawn(() => code());
    const timer = system.sendAfter(pid, "never", 1_000);
    system.spawn(() => system.exit(pid, "kill"));
    await system.idle();
    system.cancel(timer);
    expect(ends.get(pid)).toEqual({ type: "killed" });
    expect(late).toEqual([boom]);
    expect(reports.at(-1)).toMatch(/threw after its exit: Error: boom/);
  });
});

describe("the end of a process", () => {
  it("rejects a pending receive of the process, so that its finally blocks run [P5]", async () => {
    const log: unknown[] = [];
    const pid = system.spawn(async (ctx) => {
      try {
        await ctx.receive();
      } catch (error) {
        log.push((error as ProcessExitedError).code);
        throw error;
      } finally {
        log.push("closed");
      }
    });
    await system.idle();
    system.exit(pid, "kill");
    await system.idle();
    expect(log).toEqual(["ERR_PROCESS_EXITED", "closed"]);
    expect(late).toEqual([]);
  });

  it("rejects every pending call of the process, and withdraws the requests [P5]", async () => {
    const log: string[] = [];
    const handled: unknown[] = [];
    const door = new Promise<void>(() => undefined);
    const callee = system.spawn<string>({
      handle: (_ctx, message) => {
        handled.push(message);
        return door;
      },
    });
    const pid = system.spawn(async (ctx) => {
      const calls = ["first", "second"].map(async (text) => {
        try {
          await ctx.call(callee, () => text);
        } finally {
          log.push(`${text} closed`);
        }
      });
      await Promise.all(calls);
    });
    await system.idle();
    system.exit(pid, "kill");
    await system.idle();
    expect(log).toEqual(["first closed", "second closed"]);
    expect(handled).toEqual(["first"]);
    expect(system.kernel.pendingTimers).toBe(0);
    expect(late).toEqual([]);
  });

  it("aborts the process's signal with a reason that names the process [P5]", async () => {
    let signal: AbortSignal | undefined;
    const pid = system.spawn((ctx) => {
      signal = ctx.signal;
      return sleep(ctx);
    });
    await system.idle();
    expect(signal?.aborted).toBe(false);
    system.exit(pid, "kill");
    expect(signal?.aborted).toBe(true);
    expect(signal?.reason).toMatchObject({ code: "ERR_PROCESS_EXITED", pid, reason: { type: "killed" } });
  });

  it("aborts the process's signal also when the exit was normal", async () => {
    let signal: AbortSignal | undefined;
    system.spawn((ctx) => {
      signal = ctx.signal;
    });
    await system.idle();
    expect(signal?.aborted).toBe(true);
  });

  it("is not undone by code that still runs: a process whose own filter ends it stays dead", async () => {
    const pid: Pid<string> = system.spawn<string>((ctx) =>
      ctx.receive(() => {
        system.exit(pid, "kill");
        return false;
      }),
    );
    system.send(pid, "x");
    await system.idle();
    system.send(pid, "y");
    await system.idle();
    expect(ends.get(pid)).toEqual({ type: "killed" });
    expect(system.deadLetters).toBe(2);
    expect(system.population).toBe(0);
  });
});

describe("code that goes on after the end of its process, and catches each refusal", () => {
  const ASKED: [string, (ctx: BodyContext<never>) => Promise<unknown>][] = [
    ["receives", (ctx) => ctx.receive()],
    ["calls", (ctx) => ctx.call("other", () => 1)],
    ["starts", (ctx) => ctx.start({ [launch]: () => ({ behaviour: sleep, ref: (pid) => pid }) })],
  ];

  it.each(ASKED)("%s in vain, later and later: the host goes on [F9]", async (_what, ask) => {
    let refusals = 0;
    const { open, promise: opened } = gate();
    const pid = system.spawn<never>(async (ctx) => {
      await opened;
      while (refusals < 1_000_000)
        await ask(ctx).catch((error) => {
          if (error instanceof ProcessExitedError) refusals++;
        });
    });
    await system.idle();
    system.exit(pid, "kill");
    open();
    for (let turns = 0; turns < 10; turns++) await delay(0);
    expect(refusals).toBe(100);
    await clock.advance(1);
    expect(refusals).toBe(101);
    await clock.advance(2 + 3 + 4);
    expect(refusals).toBe(104);
  });
});
