// Task supervisors: tasks without a link to their owners, tasks that nobody waits for, and how all of them are stopped.

import {
  type BodyContext,
  type ExitReason,
  inspect,
  System,
  supervisor,
  TaskRefusedError,
  type TaskSupervisorOptions,
  type TaskSupervisorRef,
  taskSupervisor,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
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
const hangs = (): Promise<never> => new Promise(() => undefined);
const stubborn = async (ctx: BodyContext<unknown>): Promise<never> => {
  ctx.trapExit(true);
  for (;;) await ctx.receive();
};

const start = (options?: TaskSupervisorOptions): Promise<TaskSupervisorRef> =>
  system.start(taskSupervisor(options));

describe("a task without a link", () => {
  it("that crashes is an error value of the owner, who lives [B36]", async () => {
    const tasks = await start();
    const seen: unknown[] = [];
    const owner = system.spawn(async (ctx) => {
      seen.push(await tasks.nolink(ctx, fails).result());
      seen.push(
        await tasks
          .nolink(ctx, fails)
          .value()
          .catch((error) => error.code),
      );
      seen.push(await tasks.nolink(ctx, () => 7).value());
      await ctx.receive();
    });
    await system.idle();
    expect(seen).toMatchObject([
      { ok: false, error: { cause: { message: "no paper" } } },
      "ERR_TASK_EXITED",
      7,
    ]);
    expect([system.isAlive(owner), system.isAlive(tasks.pid), reports]).toEqual([true, true, []]);
  });

  it("goes on when its owner ends [B37]", async () => {
    const tasks = await start();
    const owner = puppet(system);
    const one = await owner.do((ctx) => ({ it: tasks.nolink(ctx, hangs) }));
    system.exit(owner.pid, "kill");
    await system.idle();
    expect(tasks.tasks()).toEqual([one.it.pid]);
    system.exit(one.it.pid, new Error("no desk"));
    await system.idle();
    expect(reports.filter((text) => text.includes("no desk"))).toHaveLength(1);
  });

  it("that crashes without a waiter, or was started without one, is reported", async () => {
    const tasks = await start();
    tasks.nolink(system, fails);
    const pid = tasks.start(fails, { label: "mail" });
    await system.idle();
    expect(reports).toHaveLength(2);
    expect(reports[1]).toContain(String(pid));
    expect([system.isAlive(tasks.pid), tasks.tasks()]).toEqual([true, []]);
  });
});

describe("a linked task under a supervisor", () => {
  it("ends its owner by its crash, and ends with its owner [B36]", async () => {
    const tasks = await start();
    const [one, two] = [puppet(system), puppet(system)];
    await one.do((ctx) => void tasks.async(ctx, fails));
    const hanging = await two.do((ctx) => ({ it: tasks.async(ctx, hangs) }));
    await system.idle();
    expect(ends.get(one.pid)).toMatchObject({ type: "crash", error: { message: "no paper" } });
    system.exit(two.pid, "shutdown");
    await system.idle();
    expect([system.isAlive(hanging.it.pid), system.isAlive(tasks.pid)]).toEqual([false, true]);
  });
});

describe("a task supervisor that stops", () => {
  it("stops all its tasks at once, and kills those that are left after its time [B40]", async () => {
    const tasks = await start({ shutdownMs: 100 });
    const pids = [tasks.start(hangs), tasks.start(stubborn), tasks.start(stubborn)];
    await system.idle();
    const end = system.exited(tasks.pid);
    system.exit(tasks.pid, "shutdown");
    await system.idle();
    expect(pids.map((pid) => ends.get(pid)?.type)).toEqual(["shutdown", undefined, undefined]);
    expect(() => tasks.start(hangs)).toThrow(expect.objectContaining({ problem: "closing" }));
    await clock.advance(99);
    expect(system.isAlive(tasks.pid)).toBe(true);
    await clock.advance(1);
    expect(await end).toEqual({ type: "shutdown" });
    expect(pids.map((pid) => ends.get(pid)?.type)).toEqual(["shutdown", "killed", "killed"]);
  });

  it.each([0, Number.POSITIVE_INFINITY])("waits %s ms if told to [B40]", async (shutdownMs) => {
    const tasks = await start({ shutdownMs });
    const pid = tasks.start(stubborn);
    await system.idle();
    system.exit(tasks.pid, "shutdown");
    await clock.advance(1_000_000);
    expect([system.isAlive(pid), system.isAlive(tasks.pid)]).toEqual(
      shutdownMs === 0 ? [false, false] : [true, true],
    );
    system.exit(pid, "kill");
    await system.idle();
    expect(system.population).toBe(0);
  });

  it("takes its tasks with it when it is killed", async () => {
    const tasks = await start();
    const one = tasks.nolink(system, hangs);
    const wait = one.result();
    await system.idle();
    system.exit(tasks.pid, "kill");
    expect(await wait).toMatchObject({ ok: false, error: { reason: { type: "killed" } } });
  });

  it("as a child is a supervisor, and is found by name after its restart", async () => {
    const Tasks = taskSupervisor({ name: "tasks" });
    const root = await system.start(supervisor({ children: [{ id: "tasks", start: Tasks }], report: false }));
    expect((await root.whichChildren())[0]).toMatchObject({ type: "supervisor" });
    const tasks = Tasks.at(system, "tasks");
    const before = tasks.pid;
    system.exit(before, "kill");
    await system.idle();
    expect(tasks.pid).not.toBe(before);
    expect(await tasks.nolink(system, () => 7).value()).toBe(7);
    expect(String(tasks)).toBe("tasks");
  });
});

describe("bad input", () => {
  it("one task more than maxTasks is refused, until one ends", async () => {
    const tasks = await start({ maxTasks: 2 });
    const [first] = [tasks.start(hangs), tasks.start(hangs)];
    const refused = (): unknown => tasks.nolink(system, hangs);
    expect(refused).toThrow(TaskRefusedError);
    expect(refused).toThrow(expect.objectContaining({ code: "ERR_TASK_REFUSED", problem: "max_tasks" }));
    system.exit(first, "kill");
    await system.idle();
    expect(await tasks.nolink(system, () => 7).value()).toBe(7);
  });

  it.each<[string, () => unknown, object]>([
    ["no number of tasks", () => taskSupervisor({ maxTasks: 0 }), { path: "maxTasks" }],
    ["no shutdown time", () => taskSupervisor({ shutdownMs: -1 }), { path: "shutdownMs" }],
    ["an empty name", () => taskSupervisor({ name: "" }), { path: "name" }],
    ["an unknown option", () => taskSupervisor({ max: 1 } as object), { path: "max" }],
    ["an address that is none", () => taskSupervisor().at(system, 7 as never), { path: "address" }],
    [
      "a name that nobody has",
      () => taskSupervisor().at(system, "x").start(hangs),
      { code: "ERR_NO_PROCESS" },
    ],
    [
      "another process",
      () => taskSupervisor().at(system, puppet(system).pid).tasks(),
      { code: "ERR_NO_PROCESS" },
    ],
  ])("%s has its error", (_what, attempt, error) => {
    expect(attempt).toThrow(expect.objectContaining(error));
  });

  it("an owner of another system is refused", async () => {
    const tasks = await start();
    await using other = new System();
    expect(() => tasks.nolink(other, hangs)).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path: "owner" }),
    );
  });

  it("is none when it is inspected: the tasks and limits are shown", async () => {
    const tasks = await start({ maxTasks: 2 });
    const pid = tasks.start(hangs);
    await system.idle();
    expect(await inspect(system, tasks.pid).state()).toEqual({
      maxTasks: 2,
      shutdownMs: 5_000,
      tasks: [pid],
      closing: undefined,
    });
  });

  it("a message is a dead letter", async () => {
    const tasks = await start();
    system.send(tasks.pid as never, "hello" as never);
    await system.idle();
    expect([system.deadLetters, system.isAlive(tasks.pid)]).toEqual([1, true]);
  });
});
