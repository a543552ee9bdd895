// Starts that are awaited: how they end, and what a failed one leaves behind.

import {
  type Callbacks,
  custom,
  type ExitReason,
  ignore,
  type Pid,
  type Startable,
  StartError,
  type StartOutcome,
  System,
  shutdown,
  stop,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Launch, launch, spawnAwaited } from "../../lib/process/start.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { endings, puppet } from "../support/puppet.js";

let clock: TestClock;
let system: System;
let ends: Map<Pid, ExitReason>;
let reports: string[];
beforeEach(() => {
  clock = testClock();
  reports = [];
  system = new System({ environment: clock.environment, report: (text) => reports.push(text) });
  ends = endings(system);
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
});

const broken = custom("broken");

/** A definition, as `defineServer` makes them, of bare callbacks. Its handle is the pid. */
function define<M>(callbacks: Callbacks<M>): Startable<readonly [], Pid<M>> {
  return { [launch]: (): Launch<Pid<M>> => ({ behaviour: callbacks, ref: (pid) => pid as Pid<M> }) };
}

describe("a start that is awaited", () => {
  it("resolves with the handle once init is done", async () => {
    const { promise, open } = gate();
    let started = false;
    const start = system.start(define<never>({ init: () => promise, handle: () => undefined }));
    void start.then(() => {
      started = true;
    });
    await system.idle();
    expect(started).toBe(false);
    open();
    expect(system.isAlive(await start)).toBe(true);
  });

  it("resolves also without an init", async () => {
    expect(system.isAlive(await system.start(define<never>({ handle: () => undefined })))).toBe(true);
  });

  it("takes options: the name is visible to all code from the beginning", async () => {
    const pid = await system.startWith(
      { name: "clerk", label: "c" },
      define<never>({ handle: () => undefined }),
    );
    expect(system.whereis("clerk")).toBe(pid);
  });

  it.each<[string, Callbacks<never>["init"], object]>([
    [
      "throws",
      () => {
        throw new Error("no paper");
      },
      { type: "crash", error: { message: "no paper" } },
    ],
    [
      "rejects",
      async () => {
        throw new Error("no ink");
      },
      { type: "crash", error: { message: "no ink" } },
    ],
    ["stops", () => stop(broken), broken],
    ["stops normally", () => stop(), { type: "normal" }],
    ["exits", (ctx) => ctx.exit(broken), broken],
    ["exits in the first step of a promise", async (ctx) => ctx.exit(broken), broken],
    ["is to be ignored", () => ignore, { type: "shutdown", detail: "its init returned `ignore`" }],
  ])("rejects with a StartError when init %s", async (_name, init, reason) => {
    const error = await system
      .start(define<never>({ ...(init && { init }), handle: () => undefined }))
      .catch((e) => e);
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({ code: "ERR_START", reason });
    expect(system.population).toBe(0);
  });

  it("that failed is not an unobserved crash: its starter was notified", async () => {
    await system
      .start(
        define<never>({
          init: () => {
            throw new Error("no paper");
          },
          handle: () => undefined,
        }),
      )
      .catch(() => undefined);
    expect(reports).toEqual([]);
  });

  it("carries the Error of a crash as its cause", async () => {
    const cause = new Error("no paper");
    const failing = define<never>({
      init: () => {
        throw cause;
      },
      handle: () => undefined,
    });
    expect(((await system.start(failing).catch((error) => error)) as StartError).cause).toBe(cause);
  });

  it("that takes longer than its timeout is killed and fails, and the error says the timeout", async () => {
    const outcome = system
      .startWith(
        { timeoutMs: 100 },
        define<never>({ init: () => new Promise(() => undefined), handle: () => undefined }),
      )
      .catch((error) => error);
    await clock.advance(99);
    expect(system.population).toBe(1);
    await clock.advance(1);
    expect(await outcome).toMatchObject({
      code: "ERR_START",
      reason: shutdown("its init took longer than 100 ms"),
    });
    expect(system.population).toBe(0);
  });

  it("within its timeout is not killed later by the timeout", async () => {
    const pid = await system.startWith({ timeoutMs: 100 }, define<never>({ handle: () => undefined }));
    await clock.advance(1_000);
    expect(system.isAlive(pid)).toBe(true);
    expect(system.kernel.pendingTimers).toBe(0);
  });

  it("takes its timeout from the system's limits", async () => {
    const strict = new System({
      environment: clock.environment,
      limits: { startTimeoutMs: 10 },
      report: false,
    });
    const outcome = strict
      .start(define<never>({ init: () => new Promise(() => undefined), handle: () => undefined }))
      .catch((error) => error);
    await clock.advance(10);
    expect(await outcome).toBeInstanceOf(StartError);
    await strict.stop();
  });

  it("under a taken name rejects, and leaves neither process nor timer behind", async () => {
    puppet(system, { name: "clerk" });
    const start = system.startWith(
      { name: "clerk", timeoutMs: 100 },
      define<never>({ handle: () => undefined }),
    );
    await expect(start).rejects.toMatchObject({ code: "ERR_NAME_TAKEN" });
    expect(system.kernel.pendingTimers).toBe(0);
    expect(system.population).toBe(1);
  });

  it("with a bad timeout rejects with an OptionError", async () => {
    const start = system.startWith({ timeoutMs: -1 }, define<never>({ handle: () => undefined }));
    await expect(start).rejects.toMatchObject({ code: "ERR_OPTION", path: "timeoutMs", value: -1 });
  });
});

describe("a start by a process", () => {
  const failing = define<never>({ init: () => stop(broken), handle: () => undefined });

  it("links the child to its parent", async () => {
    let child: Pid | undefined;
    const parent = system.spawn(async (ctx) => {
      child = await ctx.start(define<never>({ handle: () => undefined }));
      await ctx.receive();
    });
    await system.idle();
    expect(system.info(parent)?.links).toEqual([child]);
    expect(system.info(child as Pid)?.parent).toBe(parent);
  });

  it("that failed leaves no EXIT behind in a trapping parent's mailbox", async () => {
    const log: unknown[] = [];
    const parent = system.spawn(
      async (ctx) => {
        log.push(await ctx.start(failing).catch((error) => error.code));
        log.push(await ctx.receiveSignal({ timeoutMs: 0 }).catch((error) => error.code));
        await ctx.receive();
      },
      { trapExit: true },
    );
    await clock.advance(0);
    expect(log).toEqual(["ERR_START", "ERR_RECEIVE_TIMEOUT"]);
    expect(system.info(parent)?.mailboxDepth).toBe(0);
  });

  it("that failed ends a parent that does not trap exits, as a link does", async () => {
    const parent = system.spawn((ctx) => ctx.start(failing).catch(() => ctx.receive()));
    await system.idle();
    expect(ends.get(parent)).toBe(broken);
  });
});

describe("spawnAwaited", () => {
  function start(callbacks: Callbacks<never>, timeoutMs = Number.POSITIVE_INFINITY): StartOutcome[] {
    const outcomes: StartOutcome[] = [];
    spawnAwaited(system.kernel, undefined, callbacks, undefined, timeoutMs, (outcome) =>
      outcomes.push(outcome),
    );
    return outcomes;
  }

  it("notifies once, in a later turn, also when there is no init to wait for", async () => {
    const outcomes = start({ handle: () => undefined }, 100);
    expect(outcomes).toEqual([]);
    await clock.advance(1_000);
    expect(outcomes).toEqual([{ type: "started" }]);
  });

  it("notifies of `ignored` or of `failed`, once each, although the process ends afterwards", async () => {
    const ignored = start({ init: () => ignore, handle: () => undefined });
    const failed = start({ init: () => stop(broken), handle: () => undefined });
    const killed = start({ init: () => new Promise(() => undefined), handle: () => undefined });
    await system.idle();
    for (const pid of system.processes()) system.exit(pid, "kill");
    expect(ignored).toEqual([{ type: "ignored" }]);
    expect(failed).toEqual([{ type: "failed", reason: broken }]);
    expect(killed).toEqual([{ type: "failed", reason: { type: "killed" } }]);
  });

  it("starts a function body with its first step", async () => {
    const outcomes: StartOutcome[] = [];
    spawnAwaited(
      system.kernel,
      undefined,
      (ctx) => ctx.receive(),
      undefined,
      100,
      (outcome) => outcomes.push(outcome),
    );
    await clock.advance(1_000);
    expect(outcomes).toEqual([{ type: "started" }]);
  });
});

describe("a bound on the mailbox", () => {
  it.each([
    [{ capacity: 0, overflow: "reject" }, "mailbox.capacity"],
    [{ capacity: 1.5, overflow: "reject" }, "mailbox.capacity"],
    [{ capacity: 1, overflow: "explode" }, "mailbox.overflow"],
  ])("of %j is refused at the spawn, and leaves nothing behind", (mailbox, path) => {
    const options = { name: "clerk", mailbox } as { mailbox: { capacity: number; overflow: "exit" } };
    expect(() => system.spawn({ handle: () => undefined }, options)).toThrow(
      expect.objectContaining({ path }),
    );
    expect(system.population).toBe(0);
    expect(system.whereis("clerk")).toBe(undefined);
  });
});
