// Tasks: their value or error, what links them to their owners, and what a wait may do to them.

import {
  type BodyContext,
  type Context,
  type ExitReason,
  NORMAL,
  System,
  stop,
  type Task,
  TaskAwaitedError,
  TaskExitedError,
  TaskOwnerError,
  TaskTimeoutError,
  task,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { type TestClock, testClock } from "../../../lib/testing/kit/clock.js";
import { endings, puppet } from "../../support/puppet.js";

let clock: TestClock;
let system: System;
let reports: string[];
let ends: Map<unknown, ExitReason>;
beforeEach(() => {
  clock = testClock();
  reports = [];
  system = new System({ name: "shop", environment: clock.environment, report: (text) => reports.push(text) });
  ends = endings(system);
});
afterEach(() => system.stop());

const fails = async (): Promise<never> => {
  throw new Error("no paper");
};
/** Runs until it is killed or told to stop. */
const hangs = (): Promise<never> => new Promise(() => undefined);

/** Runs the body in a process, and gives what it returns or throws. */
async function inside<T>(body: (ctx: BodyContext<unknown>) => Promise<T>): Promise<T | unknown> {
  let outcome: unknown;
  const pid = system.spawn(
    async (ctx) => {
      try {
        outcome = await body(ctx);
      } catch (error) {
        outcome = error;
      }
    },
    { label: "owner" },
  );
  const reason = await system.exited(pid);
  return reason.type === "normal" ? outcome : reason;
}

describe("a task", () => {
  it("gives its value to its owner, be it a process or code outside of all [B35]", async () => {
    const outside = task(system, () => 7);
    expectTypeOf(outside).toEqualTypeOf<Task<number>>();
    expect(await outside.value()).toBe(7);
    expect(await task(system, async () => "late").value()).toBe("late");
    expect(await inside((ctx) => task(ctx, async () => 8).value())).toBe(8);
    expect(await task(system, () => undefined).result()).toEqual({ ok: true, value: undefined });
    expect(system.population).toBe(0);
  });

  it("gives a value that came before the wait", async () => {
    const early = task(system, () => 7);
    await system.idle();
    expect(system.isAlive(early.pid)).toBe(false);
    expect(await early.value()).toBe(7);
  });

  it("runs its function as a process, whose signal is aborted at its end", async () => {
    let seen: BodyContext<unknown> | undefined;
    const one = task(
      system,
      async (ctx) => {
        seen = ctx;
        await hangs();
      },
      { label: "fetch" },
    );
    await system.idle();
    expect(String(one)).toBe(String(one.pid));
    expect([one.pid.label, seen?.self, seen?.signal.aborted]).toEqual(["fetch", one.pid, false]);
    await one.stop();
    expect(seen?.signal.aborted).toBe(true);
  });

  it.each<[string, (ctx: BodyContext<unknown>) => unknown, object]>([
    ["throws", () => fails(), { type: "crash", error: { message: "no paper" } }],
    [
      "throws at once",
      () => {
        throw new Error("no ink");
      },
      { type: "crash", error: { message: "no ink" } },
    ],
    ["returns a stop", () => stop("shutdown"), { type: "shutdown" }],
    ["exits", (ctx) => ctx.exit("normal"), { type: "normal" }],
    ["exits by a kill", (ctx) => ctx.exit(ctx.self, "kill"), { type: "killed" }],
  ])("that %s has an error with its exit reason [B35]", async (_how, fn, reason) => {
    const error: Error = await task(system, fn)
      .value()
      .then(
        () => new Error("no error"),
        (thrown) => thrown,
      );
    expect(error).toBeInstanceOf(TaskExitedError);
    expect(error).toMatchObject({ code: "ERR_TASK_EXITED", reason });
    if ("error" in reason) expect(error.cause).toMatchObject(reason.error as object);
    expect(await task(system, fn).result()).toMatchObject({ ok: false, error: { reason } });
    expect(reports).toEqual([]);
  });

  it("that crashes without a waiter is reported, and gives the error later", async () => {
    const one = task(system, fails);
    await system.idle();
    expect(reports).toEqual([expect.stringContaining("no paper")]);
    await expect(one.value()).rejects.toThrow(TaskExitedError);
  });

  it("leaves nothing behind in its owner", async () => {
    const owner = puppet(system);
    for (let i = 0; i < 3; i++) {
      const one = await owner.do((ctx) => ({ it: task(ctx, () => i) }));
      await system.idle();
      expect(await one.it.value()).toBe(i);
    }
    const process = owner.pid.process;
    expect([process?.links, process?.rare?.waits]).toEqual([undefined, undefined]);
  });
});

describe("a link", () => {
  it("makes a crash of the task its owner's crash [B36]", async () => {
    expect(await inside((ctx) => task(ctx, fails).value())).toMatchObject({ error: { message: "no paper" } });
    expect(await inside(async (ctx) => [task(ctx, fails), await hangs()])).toMatchObject({
      error: { message: "no paper" },
    });
    // Once for each owner, and not for the tasks or for the code that waited in vain.
    expect(reports).toHaveLength(0);
    const owner = system.spawn(async (ctx) => task(ctx, fails).value());
    await system.idle();
    expect(reports).toEqual([expect.stringContaining(String(owner))]);
  });

  it("gives an owner that traps exits the error, and an EXIT", async () => {
    const seen = await inside(async (ctx) => {
      ctx.trapExit(true);
      const one = task(ctx, fails);
      const outcome = await one.result();
      const exit = await ctx.receiveSignal();
      return [outcome, exit.type === "exit" && exit.from === one.pid];
    });
    expect(seen).toMatchObject([{ ok: false, error: { cause: { message: "no paper" } } }, true]);
    expect(reports).toEqual([]);
  });

  it.each(["normal", "shutdown", "kill", new Error("no desk")] as const)(
    "ends the task with its owner, also at the end %s [B37]",
    async (reason) => {
      const owner = puppet(system);
      const one = await owner.do((ctx) => ({ it: task(ctx, hangs) }));
      await system.idle();
      system.send(owner.pid, (ctx: Context<never>) => ctx.exit(reason));
      await system.idle();
      expect(system.isAlive(one.it.pid)).toBe(false);
      expect(ends.get(one.it.pid)).toEqual(reason === "normal" ? { type: "shutdown" } : ends.get(owner.pid));
    },
  );

  it("is not there for code outside of processes: the task ends with the system", async () => {
    const one = task(system, hangs);
    await system.stop();
    await expect(one.value()).rejects.toMatchObject({ reason: { type: "shutdown" } });
  });
});

describe("a wait", () => {
  it("that times out kills the task, and does not hurt the owner [B38]", async () => {
    const outcome = inside(async (ctx) => {
      const one = task(ctx, hangs);
      const error = await one.value({ timeoutMs: 100 }).catch((thrown) => thrown);
      return [error, ctx.alive, system.isAlive(one.pid), await one.value().catch((thrown) => thrown.code)];
    });
    await clock.advance(100);
    const [error, ...rest] = (await outcome) as [TaskTimeoutError, ...unknown[]];
    expect(error).toBeInstanceOf(TaskTimeoutError);
    expect([error.code, error.timeoutMs]).toEqual(["ERR_TASK_TIMEOUT", 100]);
    expect(error.message).toContain("was killed");
    expect(rest).toEqual([true, false, "ERR_TASK_AWAITED"]);
  });

  it("may leave a task that is late, and wait again [B38]", async () => {
    const one = task(system, (ctx) => ctx.receive());
    const first = one.result({ timeoutMs: 100, onTimeout: "leave" });
    await clock.advance(100);
    expect(await first).toMatchObject({ ok: false, error: { code: "ERR_TASK_TIMEOUT" } });
    const second = one.value({ timeoutMs: 100 });
    system.send(one.pid, 7 as never);
    expect(await second).toBe(7);
  });

  it("has a limit of 5,000 ms unless it says otherwise", async () => {
    const waits = [
      task(system, hangs).value(),
      task(system, hangs).value({ timeoutMs: Number.POSITIVE_INFINITY }),
    ];
    const seen: string[] = [];
    for (const [index, wait] of waits.entries()) wait.catch((error) => seen.push(`${index} ${error.code}`));
    await clock.advance(4_999);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual(["0 ERR_TASK_TIMEOUT"]);
    await clock.advance(1_000_000);
    expect(seen).toHaveLength(1);
  });

  it.each(["kill", "leave"] as const)(
    "ends by its AbortSignal, which may %s the task too",
    async (onTimeout) => {
      const one = task(system, hangs);
      const abort = new AbortController();
      const wait = one.value({ signal: abort.signal, onTimeout });
      await system.idle();
      abort.abort(new Error("changed my mind"));
      await expect(wait).rejects.toThrow("changed my mind");
      expect(system.isAlive(one.pid)).toBe(onTimeout === "leave");
      const late = task(system, hangs);
      await expect(late.value({ signal: abort.signal, onTimeout })).rejects.toThrow("changed my mind");
      expect(system.isAlive(late.pid)).toBe(onTimeout === "leave");
    },
  );

  it("is the owner's alone [B39]", async () => {
    const outside = task(system, () => 7);
    expect(await inside(() => outside.value())).toBeInstanceOf(TaskOwnerError);
    const other = puppet(system);
    const theirs = await other.do((ctx) => ({ it: task(ctx, () => 8) }));
    expect(await inside(() => theirs.it.value())).toMatchObject({ code: "ERR_TASK_OWNER" });
    expect(await outside.value()).toBe(7);
  });

  it("comes once: a second one is an error, before and after the end [B39]", async () => {
    const one = task(system, () => 7);
    const [first, second] = [one.value(), one.value()];
    await expect(second).rejects.toThrow(TaskAwaitedError);
    expect(await first).toBe(7);
    await expect(one.result()).rejects.toMatchObject({ code: "ERR_TASK_AWAITED" });
  });

  it("ends with its owner", async () => {
    const seen: unknown[] = [];
    const owner = system.spawn(async (ctx) => {
      await task(ctx, hangs)
        .value()
        .catch((error) => seen.push(error.code));
    });
    await system.idle();
    system.exit(owner, "shutdown");
    await system.idle();
    expect([seen, system.population, system.kernel.pendingTimers]).toEqual([["ERR_PROCESS_EXITED"], 0, 0]);
  });
});

describe("stop", () => {
  it("gives the task its time, and kills it after that", async () => {
    const stubborn = task(system, async (ctx) => {
      ctx.trapExit(true);
      for (;;) await ctx.receive();
    });
    await system.idle();
    const stopped = stubborn.stop({ timeoutMs: 100 });
    await clock.advance(99);
    expect(system.isAlive(stubborn.pid)).toBe(true);
    await clock.advance(1);
    await stopped;
    expect(ends.get(stubborn.pid)).toEqual({ type: "killed" });
    await expect(stubborn.value()).rejects.toMatchObject({ reason: { type: "killed" } });
    expect(reports).toEqual([]);
  });

  it("comes with `await using`, does not touch the owner, and leaves the value of a task that has ended", async () => {
    const seen = await inside(async (ctx) => {
      await using one = task(ctx, hangs);
      const two = task(ctx, () => 7);
      await system.idle();
      await two.stop();
      return [system.isAlive(one.pid), await two.value()];
    });
    expect(seen).toEqual([true, 7]);
    expect(system.population).toBe(0);
  });

  it("with no time kills at once, also while the owner waits", async () => {
    const one = task(system, hangs);
    const wait = one.result();
    await Promise.all([one.stop({ timeoutMs: 0 }), one.stop()]);
    expect(await wait).toMatchObject({ ok: false, error: { reason: { type: "killed" } } });
  });
});

describe("bad input", () => {
  it.each<[string, () => unknown, string]>([
    ["no owner", () => task(undefined as never, hangs), "owner"],
    ["an owner that is none", () => task({} as never, hangs), "owner"],
    ["no function", () => task(system, 7 as never), "fn"],
    ["an empty label", () => task(system, hangs, { label: "" }), "label"],
    ["an unknown option", () => task(system, hangs, { lable: "x" } as object), "lable"],
    ["a timeout that is none", () => task(system, hangs).value({ timeoutMs: -1 }), "timeoutMs"],
    ["another end of a wait", () => task(system, hangs).value({ onTimeout: "drop" as "kill" }), "onTimeout"],
    ["an unknown option of a wait", () => task(system, hangs).value({ timeout: 1 } as object), "timeout"],
    ["a shutdown time that is none", () => task(system, hangs).stop({ timeoutMs: Number.NaN }), "timeoutMs"],
  ])("%s is an OptionError", async (_what, attempt, path) => {
    await expect((async () => attempt())()).rejects.toMatchObject({ code: "ERR_OPTION", path });
  });

  it("leaves the task to be awaited", async () => {
    const one = task(system, () => 7);
    await expect(one.value({ timeoutMs: -1 })).rejects.toThrow();
    expect(await one.value()).toBe(7);
  });

  it("of a process that has exited is refused", async () => {
    const owner = puppet(system);
    const ctx = await owner.do((own) => own);
    system.exit(owner.pid, "kill");
    expect(() => task(ctx, hangs)).toThrow(expect.objectContaining({ code: "ERR_PROCESS_EXITED" }));
    await system.stop();
    expect(() => task(system, hangs)).toThrow(expect.objectContaining({ code: "ERR_SYSTEM_STOPPED" }));
    expect(ends.get(owner.pid)).not.toEqual(NORMAL);
  });
});
