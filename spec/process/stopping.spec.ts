// How long a stop of the system takes: each top-level process has its time, and the whole has one limit.

import { type Callbacks, type Pid, type SpawnOptions, SYSTEM_DEFAULTS, System } from "signalbox";
import { beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";

const never = new Promise<never>(() => undefined);

let clock: TestClock;
let ends: string[];
let reports: string[];
beforeEach(() => {
  clock = testClock();
  ends = [];
  reports = [];
});

function begin(limits: { readonly shutdownMs?: number; readonly stopTimeoutMs?: number } = {}): System {
  const system = new System({
    environment: clock.environment,
    limits,
    report: (text) => reports.push(text),
  });
  system.events.on("exit", ({ pid, reason }) => {
    if (pid.label !== "exited") ends.push(`${clock.now} ${pid.label} ${reason.type}`);
  });
  return system;
}

/** A process that takes `ms` to clean up when it is told to stop; `Infinity`: it never ends by itself. */
function lingering(ms: number): Callbacks<never> {
  return {
    handle: () => undefined,
    terminate: (ctx) =>
      ms === Number.POSITIVE_INFINITY
        ? never
        : new Promise<void>((done) => {
            const system = ctx.self.process?.kernel;
            system?.addTimer(ms, { fire: done });
          }),
  };
}

function spawn(system: System, label: string, ms: number, options?: SpawnOptions): Pid {
  return system.spawn(lingering(ms), { label, trapExit: true, ...options });
}

describe("a process that the system stops", () => {
  it("is killed after `shutdownMs`, and then the process before it is stopped [Q2]", async () => {
    const system = begin({ shutdownMs: 100 });
    spawn(system, "first", 50);
    spawn(system, "second", Number.POSITIVE_INFINITY);
    const stopped = system.stop();
    await clock.advance(1_000);
    await stopped;
    expect(ends).toEqual(["100 second killed", "150 first shutdown"]);
  });

  it("has the time of its spawn option instead, shorter or longer [Q2]", async () => {
    const system = begin();
    spawn(system, "long", 30_000, { shutdown: 30_001 });
    spawn(system, "short", 30_000, { shutdown: 10 });
    spawn(system, "none", 30_000, { shutdown: 0 });
    const stopped = system.stop();
    await clock.advance(60_000);
    await stopped;
    expect(ends).toEqual(["0 none killed", "10 short killed", "30010 long shutdown"]);
  });

  it("is not started when its spawn option is not a valid time", () => {
    const system = begin();
    for (const shutdown of [-1, Number.NaN, "brutal_kill", null])
      expect(() => system.spawn(lingering(0), { name: "clerk", shutdown: shutdown as number })).toThrow(
        expect.objectContaining({ code: "ERR_OPTION", path: "shutdown", value: shutdown }),
      );
    expect([system.population, system.whereis("clerk")]).toEqual([0, undefined]);
  });
});

describe("the whole stop", () => {
  it("is over after `stopTimeoutMs`: the remaining processes are killed, and no kill counts as a crash [Q3]", async () => {
    const system = begin({ stopTimeoutMs: 12_000 });
    for (const label of ["a", "b", "c", "d"]) spawn(system, label, Number.POSITIVE_INFINITY);
    const stopped = system.stop();
    await clock.advance(12_000);
    await stopped;
    expect(ends).toEqual(["5000 d killed", "10000 c killed", "12000 a killed", "12000 b killed"]);
    expect(reports).toEqual([]);
    expect([system.population, clock.pendingAlarms]).toEqual([0, 0]);
  });

  it("has a default limit of one minute, also for a process that never stops [Q3]", async () => {
    const system = begin();
    spawn(system, "a", Number.POSITIVE_INFINITY, { shutdown: Number.POSITIVE_INFINITY });
    const stopped = system.stop();
    await clock.advance(SYSTEM_DEFAULTS.stopTimeoutMs - 1);
    expect(ends).toEqual([]);
    await clock.advance(1);
    await stopped;
    expect(ends).toEqual(["60000 a killed"]);
  });

  it("has unlimited time with a limit of Infinity", async () => {
    const system = begin({ stopTimeoutMs: Number.POSITIVE_INFINITY });
    spawn(system, "a", 1e9, { shutdown: Number.POSITIVE_INFINITY });
    const stopped = system.stop();
    await clock.advance(1e9);
    await stopped;
    expect(ends).toEqual(["1000000000 a shutdown"]);
  });

  it("leaves no timer behind when it finishes before its limit", async () => {
    const system = begin();
    spawn(system, "a", 10);
    const stopped = system.stop();
    await clock.advance(10);
    await stopped;
    expect([system.kernel.pendingTimers, clock.pendingAlarms]).toEqual([0, 0]);
  });

  it("notifies code that waits for an exit, when that exit is a kill at the limit", async () => {
    const system = begin({ stopTimeoutMs: 100 });
    const a = spawn(system, "a", Number.POSITIVE_INFINITY);
    const gone = system.exited(a);
    const stopped = system.stop();
    await clock.advance(100);
    await stopped;
    expect(await gone).toEqual({ type: "killed" });
  });
});

describe("stop({ timeout })", () => {
  it("sets the limit for this stop [Q3]", async () => {
    const system = begin();
    spawn(system, "a", Number.POSITIVE_INFINITY);
    spawn(system, "b", Number.POSITIVE_INFINITY);
    const stopped = system.stop({ timeoutMs: 200 });
    await clock.advance(200);
    await stopped;
    expect(ends).toEqual(["200 a killed", "200 b killed"]);
  });

  it("hastens a stop in progress, and never prolongs it [Q5]", async () => {
    const system = begin();
    spawn(system, "a", Number.POSITIVE_INFINITY);
    spawn(system, "b", Number.POSITIVE_INFINITY);
    const stopped = system.stop({ timeoutMs: 1_000 });
    expect(system.stop({ timeoutMs: 5_000 })).toBe(stopped);
    await clock.advance(300);
    expect(system.stop({ timeoutMs: 100 })).toBe(stopped);
    expect(system.stop()).toBe(stopped);
    await clock.advance(100);
    await stopped;
    expect(ends).toEqual(["400 a killed", "400 b killed"]);
  });

  it("kills all processes at once with 0, also in the middle of a stop [Q5]", async () => {
    const system = begin();
    spawn(system, "a", Number.POSITIVE_INFINITY);
    const stopped = system.stop();
    await clock.advance(300);
    void system.stop({ timeoutMs: 0 });
    await clock.advance(0);
    await stopped;
    expect(ends).toEqual(["300 a killed"]);
  });

  it("has no effect after the end", async () => {
    const system = begin();
    await system.stop();
    await system.stop({ timeoutMs: 5 });
    expect(clock.pendingAlarms).toBe(0);
  });

  it("refuses an invalid time, and does not begin then", () => {
    const system = begin();
    const a = spawn(system, "a", 0);
    for (const timeoutMs of [-1, Number.NaN, "soon"])
      expect(() => system.stop({ timeoutMs: timeoutMs as number })).toThrow(
        expect.objectContaining({ code: "ERR_OPTION", path: "timeoutMs" }),
      );
    expect(system.isAlive(a)).toBe(true);
  });
});

describe("a stop from within", () => {
  it("ends the process that called it when its turn to stop comes [Q4]", async () => {
    const system = begin();
    spawn(system, "before", 10);
    const asks: Callbacks<string> = { handle: () => void system.stop(), terminate: () => undefined };
    system.send(system.spawn(asks, { label: "asks", trapExit: true }), "stop");
    spawn(system, "after", 10);
    await clock.advance(100);
    expect(ends).toEqual(["10 after shutdown", "10 asks shutdown", "20 before shutdown"]);
  });

  it("kills a process that waits for the stop, after the process's shutdown time [Q4]", async () => {
    const system = begin();
    spawn(system, "before", 10);
    const waits: Callbacks<string> = { handle: () => system.stop() };
    system.send(system.spawn(waits, { label: "waits", trapExit: true }), "stop");
    await clock.advance(10_000);
    expect(ends).toEqual(["5000 waits killed", "5010 before shutdown"]);
    expect(system.stopped).toBe(true);
  });
});
