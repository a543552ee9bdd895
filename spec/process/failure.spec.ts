// The process as one unit of failure: whatever goes wrong in its code ends it, and nothing of it lives on.

import { type Context, type ExitReason, type Pid, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { endings, obedient, sleep } from "../support/puppet.js";

let clock: TestClock;
let system: System;
let ends: Map<Pid, ExitReason>;
let theirs: NodeJS.UnhandledRejectionListener[];

// The test runner's own listeners would take every unhandled rejection for a failed test. Without them, one that the
// library did not give to a process is an uncaught exception, which fails the run.
beforeEach(() => {
  theirs = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  ends = endings(system);
});
afterEach(async () => {
  for (const pid of system.processes()) system.exit(pid, "kill");
  await system.stop();
  for (const listener of theirs) process.on("unhandledRejection", listener);
});

const boom = new Error("boom");

function fail(): never {
  throw boom;
}

async function failLater(steps: number): Promise<void> {
  await null;
  if (steps === 0) throw boom;
  await failLater(steps - 1);
}

describe("a process ends by", () => {
  type Code = (ctx: Context<unknown>) => unknown;
  const ways: [string, Code][] = [
    ["a throw", fail],
    ["a rejection", () => failLater(0)],
    [
      "a rejection that nobody awaited",
      () => {
        void Promise.reject(boom);
      },
    ],
    [
      "a rejection that nobody awaited, several awaits deep",
      () => {
        void failLater(5);
      },
    ],
    [
      "a rejection that nobody awaited, made after an await of its own",
      async () => {
        await failLater(3).catch(() => undefined);
        void failLater(3);
      },
    ],
    [
      "a rejected promise that it made and dropped, rejected by somebody else",
      (ctx) => {
        let reject!: (error: unknown) => void;
        void new Promise((_resolve, no) => {
          reject = no;
        });
        ctx.spawn(() => reject(boom));
      },
    ],
    ["a throw in ctx.runAfter", (ctx) => void ctx.runAfter(10, fail)],
    ["a rejection in ctx.runAfter", (ctx) => void ctx.runAfter(10, () => failLater(2))],
    [
      "a throw in ctx.wrap",
      (ctx) => {
        setImmediate(ctx.wrap(fail));
      },
    ],
    [
      "a rejection in ctx.wrap",
      (ctx) => {
        setImmediate(ctx.wrap(() => failLater(2)));
      },
    ],
    [
      "a rejection that is thenable only",
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what this is about
      () => ({ then: (_yes: unknown, no: (error: unknown) => void) => no(boom) }),
    ],
  ];

  it.each(ways)("%s, in a callback", async (_name, code) => {
    const pid = system.spawn<string>({ handle: (ctx) => code(ctx as Context<unknown>) });
    system.send(pid, "go");
    await clock.advance(10);
    await clock.settle();
    expect(ends.get(pid)).toEqual({ type: "crash", error: boom });
    expect((ends.get(pid) as { error: Error }).error).toBe(boom);
  });

  it.each(ways)("%s, in a function body", async (_name, code) => {
    const pid = system.spawn(async (ctx) => {
      await code(ctx);
      await sleep(ctx);
    });
    await clock.advance(10);
    await clock.settle();
    expect(ends.get(pid)).toEqual({ type: "crash", error: boom });
  });

  it("a rejection that no code awaited, while other processes with the same code go on [P2]", async () => {
    const pids = [0, 1, 2, 3, 4].map((n) =>
      system.spawn(async (ctx) => {
        await ctx.receive();
        await null;
        void (n === 2 ? failLater(4) : failLater(4).catch(() => undefined));
        await sleep(ctx);
      }),
    );
    for (const pid of pids) system.send(pid, "go");
    await system.idle();
    expect(pids.map((pid) => ends.has(pid))).toEqual([false, false, true, false, false]);
  });

  it("a thrown value that is not an Error, which is kept as the cause", async () => {
    const pid = system.spawn(() => {
      throw { code: 7 };
    });
    await system.idle();
    expect(ends.get(pid)).toMatchObject({
      type: "crash",
      error: { code: "ERR_THROWN_VALUE", cause: { code: 7 } },
    });
  });
});

describe("a rejection made outside of any process", () => {
  let host: unknown[];
  const listen = (error: unknown): void => void host.push(error);
  beforeEach(() => {
    host = [];
    process.on("unhandledRejection", listen);
  });
  afterEach(() => {
    process.off("unhandledRejection", listen);
  });

  it("reaches the host's own listeners, and ends no process", async () => {
    const pid = system.spawn(sleep);
    await system.idle();
    const outside = new Error("not ours");
    void Promise.reject(outside);
    await system.idle();
    expect(host).toEqual([outside]);
    expect(system.isAlive(pid)).toBe(true);
  });

  it("reaches the listeners also when it was created during a turn", async () => {
    const outside = new Error("not ours");
    const pid = system.spawn<never>(obedient());
    system.events.on("spawn", () => void Promise.reject(outside));
    system.send(pid, ((ctx: Context<never>) => ctx.spawn(sleep)) as never);
    await system.idle();
    expect(host).toEqual([outside]);
    expect(system.isAlive(pid)).toBe(true);
  });

  it("is an uncaught exception, as without the library, when the host has no listener [P3]", async () => {
    process.off("unhandledRejection", listen);
    const uncaught: unknown[] = [];
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    const catcher = (error: unknown): void => void uncaught.push(error);
    process.on("uncaughtException", catcher);
    const outside = new Error("not ours");
    void Promise.reject(outside);
    await system.idle();
    process.off("uncaughtException", catcher);
    for (const listener of others) process.on("uncaughtException", listener);
    expect(uncaught).toEqual([outside]);
  });
});

describe("a rejection of a process whose system has stopped, while another system runs", () => {
  /** What reaches the host as an uncaught exception when a process's side promise rejects after its system has stopped. */
  async function uncaughtAfterStop(reject: (ctx: Context<unknown>) => void): Promise<unknown[]> {
    const uncaught: unknown[] = [];
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    const catcher = (error: unknown): void => void uncaught.push(error);
    process.on("uncaughtException", catcher);
    const stopped = new System({ report: false });
    let release: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    stopped.spawn((ctx) => {
      void gate.then(() => reject(ctx));
    });
    await stopped.idle();
    await stopped.stop();
    release();
    await system.idle();
    process.off("uncaughtException", catcher);
    for (const listener of others) process.on("uncaughtException", listener);
    return uncaught;
  }

  it("is not swallowed: no system is left to report it, so the host handles it", async () => {
    expect(await uncaughtAfterStop(fail)).toEqual([boom]);
  });

  it("is not reported when it is a refused effect, which is expected", async () => {
    expect(await uncaughtAfterStop((ctx) => ctx.send(ctx.self, "late"))).toEqual([]);
  });
});
