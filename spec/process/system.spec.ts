// A system as its owner sees it: what runs in it, and that it ends, wholly and in order.

import { type Pid, type ReplyTo, remoteNodes, System } from "signalbox";
import { describe, expect, test } from "vitest";
import type { RejectionListener } from "../../lib/process/environment.js";
import { production } from "../../lib/process/production.js";
import { testClock } from "../../lib/testing/kit/clock.js";
import { macrotask } from "../support/host.js";

const quiet = { handle: () => undefined };
const never = new Promise<never>(() => undefined);

/** A process that notes its end in `log`; with `ms`, it takes its time. */
function leaving(log: string[], name: string, work: () => unknown = () => undefined) {
  return {
    handle: () => undefined,
    terminate: async (_ctx: unknown, reason: { readonly type: string }): Promise<void> => {
      await work();
      log.push(`${name} ${reason.type}`);
    },
  };
}

describe("a system", () => {
  test("has a name and an id of its own, and counts its live processes", async () => {
    await using system = new System({ name: "shop", report: false });
    await using unnamed = new System({ report: false });
    expect([system.name, unnamed.name]).toEqual(["shop", "system"]);
    expect(system.node).toEqual({ name: "shop", id: expect.stringMatching(/.{10}/) });
    const first = system.spawn(quiet);
    const second = system.spawn(quiet);
    expect(system.processes()).toEqual([first, second]);
    expect(system.population).toBe(2);
    system.exit(first, "kill");
    expect(system.processes()).toEqual([second]);
    expect(system.population).toBe(1);
    expect([system.isAlive(first), system.isAlive(second)]).toEqual([false, true]);
  });

  test("keeps its list of processes right when the first, a middle and the last one end", async () => {
    await using system = new System({ report: false });
    const pids = Array.from({ length: 5 }, () => system.spawn(quiet));
    for (const [gone, left] of [
      [2, [0, 1, 3, 4]],
      [0, [1, 3, 4]],
      [4, [1, 3]],
      [3, [1]],
      [1, []],
    ] as const) {
      system.exit(pids[gone] as Pid, "kill");
      expect(system.processes()).toEqual(left.map((index) => pids[index]));
    }
  });

  test("lets code outside wait for an exit: until its reason, `noproc` for a process that ended long ago, or an abort", async () => {
    await using system = new System({ report: false });
    const pid = system.spawn(quiet);
    const gone = system.exited(pid);
    const reason = new Error("no longer interested");
    const abort = new AbortController();
    const given = system.exited(pid, { signal: abort.signal });
    abort.abort(reason);
    await expect(given).rejects.toBe(reason);
    await expect(system.exited(pid, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    system.exit(pid, "shutdown");
    expect(await gone).toEqual({ type: "shutdown" });
    expect(await system.exited(pid)).toEqual({ type: "noproc" });
    await system.idle();
    expect(system.population).toBe(0);
  });

  test("registers names and releases them", async () => {
    await using system = new System({ report: false });
    const pid = system.spawn<string>(quiet);
    system.register("clerk", pid);
    expect(system.whereis("clerk")).toBe(pid);
    expect(system.unregister("clerk")).toBe(true);
    expect(system.unregister("clerk")).toBe(false);
    expect(system.whereis("clerk")).toBeUndefined();
  });
});

describe("stop", () => {
  test("shuts the top-level processes down one after the other, the last started first [C9]", async () => {
    const system = new System({ report: false });
    const log: string[] = [];
    for (const name of ["a", "b", "c"]) {
      system.spawn(
        leaving(log, name, async () => {
          log.push(`${name} begins`);
          await macrotask();
        }),
        { trapExit: true },
      );
    }
    await system.stop();
    expect(log).toEqual(["c begins", "c shutdown", "b begins", "b shutdown", "a begins", "a shutdown"]);
    expect(system.population).toBe(0);
  });

  test("kills a process that does not stop within shutdownMs, and continues with the next", async () => {
    const clock = testClock();
    const system = new System({
      environment: clock.environment,
      limits: { shutdownMs: 100 },
      report: false,
    });
    const log: string[] = [];
    system.spawn(leaving(log, "good"), { trapExit: true });
    const stubborn = system.spawn(
      leaving(log, "stubborn", () => never),
      { trapExit: true },
    );
    const gone = system.exited(stubborn);
    const stopped = system.stop();
    await clock.advance(99);
    expect(system.isAlive(stubborn)).toBe(true);
    expect(log).toEqual([]);
    await clock.advance(1);
    await stopped;
    expect(await gone).toEqual({ type: "killed" });
    expect(log).toEqual(["good shutdown"]);
    expect(clock.pendingAlarms).toBe(0);
  });

  test("kills the processes that survive the top-level processes, and reports no crash for these kills", async () => {
    const lines: string[] = [];
    const system = new System({ report: (line) => lines.push(line) });
    const exits: string[] = [];
    system.events.on("exit", ({ pid, reason }) => exits.push(`${pid.label} ${reason.type}`));
    system.spawn(
      {
        init: (ctx) => {
          ctx.spawn(quiet, { label: "orphan" });
          ctx.spawn(quiet, { label: "trapping orphan", trapExit: true });
        },
        handle: () => undefined,
      },
      { label: "parent" },
    );
    await system.idle();
    await system.stop();
    expect(exits).toEqual(["parent shutdown", "orphan killed", "trapping orphan killed"]);
    expect(lines).toEqual([]);
  });

  test("called again returns the same promise, and does nothing twice", async () => {
    const system = new System({ report: false });
    const log: string[] = [];
    system.spawn(leaving(log, "a"), { trapExit: true });
    const first = system.stop();
    expect(system.stop()).toBe(first);
    await first;
    await system.stop();
    expect(log).toEqual(["a shutdown"]);
  });

  test("lets a process that is terminating still use the system", async () => {
    const system = new System({ report: false });
    const store = system.spawn<ReplyTo<string>>({ handle: (ctx, replyTo) => ctx.reply(replyTo, "saved") });
    let saved = "";
    system.spawn<string>(
      {
        handle: () => undefined,
        terminate: async (ctx) => {
          saved = await ctx.call(store, (replyTo: ReplyTo<string>) => replyTo);
        },
      },
      { trapExit: true },
    );
    await system.stop();
    expect(saved).toBe("saved");
  });

  test("may be called by one of the system's own processes", async () => {
    const system = new System({ report: false });
    let stopped: Promise<void> | undefined;
    system.spawn<string>({
      init: () => {
        stopped = system.stop();
      },
      handle: () => undefined,
    });
    await system.idle();
    await stopped;
    expect(system.stopped).toBe(true);
  });

  test("happens at the end of an `await using` block", async () => {
    let escaped: System | undefined;
    const log: string[] = [];
    {
      await using system = new System({ report: false });
      escaped = system;
      system.spawn(leaving(log, "a"), { trapExit: true });
    }
    expect(log).toEqual(["a shutdown"]);
    expect(escaped.stopped).toBe(true);
  });
});

describe("at a stop no code is left waiting", () => {
  test("calls and receives end", async () => {
    const system = new System({ report: false });
    const silent = system.spawn<ReplyTo<string>>(quiet);
    const log: string[] = [];
    const note = (what: string) => (error: { readonly code: string }) =>
      void log.push(`${what} ${error.code}`);
    const ask = (replyTo: ReplyTo<string>): ReplyTo<string> => replyTo;
    const call = system
      .call(silent, ask, { timeoutMs: Number.POSITIVE_INFINITY })
      .catch(note("call from outside"));
    system.spawn(async (ctx) => {
      await ctx.call(silent, ask, { timeoutMs: Number.POSITIVE_INFINITY }).catch(note("call"));
    });
    system.spawn(async (ctx) => {
      await ctx.receive().catch(note("receive"));
    });
    await system.idle();
    await system.stop();
    await call;
    expect(log.toSorted()).toEqual([
      "call ERR_PROCESS_EXITED",
      "call from outside ERR_CALLEE_EXITED",
      "receive ERR_PROCESS_EXITED",
    ]);
  });

  test("code that waits for an exit is notified, whether the wait began before or after the stop", async () => {
    const system = new System({ report: false });
    const first = system.spawn(quiet);
    const before = system.exited(first);
    const second = system.spawn<string>(
      {
        init: (ctx) => {
          ctx.spawn(quiet, { name: "orphan" });
        },
        handle: () => undefined,
      },
      { trapExit: true },
    );
    await system.idle();
    const orphan = system.exited(system.whereis("orphan") as Pid);
    const reasons = Promise.all([before, system.exited(second), orphan]);
    await system.stop();
    expect((await reasons).map((reason) => reason.type)).toEqual(["shutdown", "shutdown", "killed"]);
    expect(await system.exited(first)).toEqual({ type: "noproc" });
  });

  test("code that waits for an exit on another node gets the error that the system has stopped", async () => {
    const system = new System({ report: false, transport: remoteNodes({ send: () => true }) });
    const far = system.pidAt({ node: { name: "there", id: "there" }, id: 1 });
    const refused = expect(system.exited(far)).rejects.toMatchObject({ code: "ERR_SYSTEM_STOPPED" });
    await system.stop();
    await refused;
  });
});

describe("a stopped system", () => {
  test("starts nothing and takes no calls", async () => {
    const system = new System({ name: "shop", report: false });
    const pid = system.spawn<ReplyTo<string>>(quiet);
    await system.stop();
    expect(system.stopped).toBe(true);
    expect(() => system.spawn(quiet)).toThrow(
      expect.objectContaining({
        code: "ERR_SYSTEM_STOPPED",
        message: "the system shop is stopped; create a new System",
      }),
    );
    await expect(system.call(pid, (replyTo: ReplyTo<string>) => replyTo)).rejects.toMatchObject({
      code: "ERR_SYSTEM_STOPPED",
    });
    system.send(pid, undefined as never);
    expect(system.deadLetters).toBe(1);
    system.exit(pid, "kill");
    await system.idle();
    expect([system.population, system.info(pid)]).toEqual([0, undefined]);
  });

  test("has released every resource of the host", async () => {
    const clock = testClock();
    const watching = new Set<RejectionListener>();
    const environment = {
      ...clock.environment,
      watchRejections: (listener: RejectionListener) => {
        watching.add(listener);
        return () => void watching.delete(listener);
      },
    };
    const system = new System({ environment, report: false });
    const pid = system.spawn<string>({
      init: (ctx) => {
        ctx.sendInterval(ctx.self, "tick", 100);
      },
      handle: () => undefined,
    });
    system.sendAfter(pid, "late", 1_000);
    await clock.settle();
    expect([watching.size, clock.pendingAlarms]).toEqual([1, 1]);
    await system.stop();
    expect([watching.size, clock.pendingAlarms]).toEqual([0, 0]);
  });
});

test("a system uses only the clock, randomness and ids of the environment that it is given", async () => {
  const environment = { ...production, now: () => 1_234, random: () => 0.25, id: () => "the-id" };
  await using system = new System({ environment, report: false });
  const seen: unknown[] = [];
  const pid = system.spawn((ctx) => void seen.push(ctx.now(), ctx.random()));
  await system.exited(pid);
  expect([...seen, system.node.id]).toEqual([1_234, 0.25, "the-id"]);
});
