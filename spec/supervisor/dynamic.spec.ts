// Dynamic supervisors: many children of one kind, started while it runs and addressed by pid.

import {
  type Callbacks,
  defineServer,
  type ExitInput,
  ignore,
  type Pid,
  stop,
  supervisor,
  supervisorRef,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { child, hanging, planned } from "./house.js";
import { broken, Sessions } from "./sessions.js";

let house: Sessions;
beforeEach(() => {
  house = new Sessions();
});
afterEach(() => house.close());

const many: Sessions["many"] = (more, options) => house.many(more, options);
const fail: Sessions["fail"] = (pid, reason) => house.fail(pid, reason);
const running = (): Pid<unknown>[] => house.running();

describe("a dynamic supervisor", () => {
  it("has no children at first, and starts one for each request", async () => {
    const sessions = await many();
    expect(await sessions.whichChildren()).toEqual([]);
    const [first, second] = [await sessions.startLike(), await sessions.startLike()];
    expect(running()).toEqual([first, second]);
    expect(await sessions.whichChildren()).toEqual([
      { id: "a", type: "worker", pid: second, status: "running" },
      { id: "a", type: "worker", pid: first, status: "running" },
    ]);
    expect(await sessions.countChildren()).toEqual({ specs: 2, active: 2, supervisors: 0, workers: 2 });
  });

  it("gives each child its own arguments, and the same arguments at its restart", async () => {
    const log: unknown[] = [];
    const Session = defineServer({
      init: (_ctx, user: string, age: number) => {
        log.push([user, age]);
        return {};
      },
    });
    const sessions = await many({ start: Session });
    const ann = (await sessions.startLike(["ann", 7])) as unknown as { readonly pid: Pid };
    await sessions.startLike(["bob", 8]);
    house.system.exit(ann.pid, "kill");
    await house.system.idle();
    expect(log).toEqual([
      ["ann", 7],
      ["bob", 8],
      ["ann", 7],
    ]);
  });

  it("starts children at the same time: a slow init delays no other child", async () => {
    const door = gate();
    let first = true;
    const start: Callbacks<never> = {
      init: () => {
        if (!first) return undefined;
        first = false;
        return door.promise;
      },
      handle: () => undefined,
    };
    const sessions = await many({ start });
    const slow = sessions.startLike();
    const quick = await sessions.startLike();
    expect((await sessions.whichChildren()).map(({ pid }) => pid)).toEqual([quick]);
    expect(await sessions.countChildren()).toMatchObject({ specs: 1, active: 1 });
    door.open();
    expect(await slow).not.toBe(quick);
    expect((await sessions.whichChildren()).map(({ pid }) => pid)).toEqual([quick, await slow]);
  });

  it("refuses more than maxChildren, starting children included", async () => {
    const sessions = await many({}, { maxChildren: 2 });
    const first = sessions.startLike();
    const second = sessions.startLike();
    await expect(sessions.startLike()).rejects.toMatchObject({ code: "ERR_CHILD", problem: "max_children" });
    await sessions.terminateChild((await first) as Pid);
    await second;
    expect(await sessions.startLike()).toBeDefined();
  });

  it("resolves with undefined for a child that asks to be ignored, and keeps nothing of the child", async () => {
    const sessions = await many(
      { start: { init: () => ignore, handle: () => undefined } },
      { maxChildren: 1 },
    );
    expect(await sessions.startLike()).toBe(undefined);
    expect(await sessions.startLike()).toBe(undefined);
    expect(await sessions.countChildren()).toMatchObject({ specs: 0 });
  });

  it("rejects with the reason of a child that does not start, and serves further requests", async () => {
    const { start } = planned("a", ["fail", "up"]);
    const sessions = await many({ start });
    await expect(sessions.startLike()).rejects.toMatchObject({
      problem: "start_failed",
      cause: { message: "a cannot" },
    });
    expect(await sessions.startLike()).toBe(running()[0]);
    expect(house.restarts).toEqual([]);
  });

  it("refuses a second child with the name, when the template has one", async () => {
    const sessions = await many({ name: "only" });
    await sessions.startLike();
    await expect(sessions.startLike()).rejects.toMatchObject({
      problem: "already_started",
    });
    expect(running()).toHaveLength(1);
  });

  it("kills a child whose init takes longer than its startTimeoutMs", async () => {
    const sessions = await many({ start: hanging, startTimeoutMs: 50 });
    const outcome = sessions.startLike().catch((e) => e.problem);
    await house.clock.advance(50);
    expect(await outcome).toBe("start_failed");
    expect(running()).toEqual([]);
  });

  it("refuses arguments that are not an array", async () => {
    const sessions = await many();
    await expect(sessions.startLike("ann" as never)).rejects.toMatchObject({ path: "args" });
    expect(house.system.isAlive(sessions.pid)).toBe(true);
  });

  it("has no named children, so its handle cannot ask for one", async () => {
    const sessions = supervisorRef(house.system, (await many()).pid);
    await expect(sessions.startChild(child("b"))).rejects.toMatchObject({ path: "addChild" });
    await expect(sessions.restartChild("a")).rejects.toMatchObject({ path: "restartChild" });
    await expect(sessions.deleteChild("a")).rejects.toMatchObject({ path: "deleteChild" });
    await expect(sessions.startChild(undefined as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
  });

  it("may have supervisors as children, which count as supervisors", async () => {
    const Branch = supervisor({ children: [child("leaf")] });
    const sessions = await many({ start: Branch });
    await sessions.startLike();
    await sessions.startLike();
    expect(house.find("leaf")).toHaveLength(2);
    expect(await sessions.countChildren()).toEqual({ specs: 2, active: 2, supervisors: 2, workers: 0 });
  });
});

describe("a dynamic child that ends", () => {
  it("is restarted alone, by the template's rule", async () => {
    const sessions = await many();
    const [first, second] = [await sessions.startLike(), await sessions.startLike()];
    await fail(first);
    expect(running()).toHaveLength(2);
    expect(running()[0]).toBe(second);
    expect(house.restarts).toMatchObject([
      { id: "a", reason: broken, strategy: "one_for_one", siblings: [], intensityLeft: 0, gaveUp: false },
    ]);
  });

  it.each<["transient" | "temporary", ExitInput, number]>([
    ["transient", "normal", 0],
    ["transient", broken, 1],
    ["temporary", "normal", 0],
    ["temporary", broken, 0],
  ])("is, when %s, after %j among %d", async (restart, reason, left) => {
    const sessions = await many({ restart });
    await fail(await sessions.startLike(), reason);
    expect(running()).toHaveLength(left);
    expect(await sessions.countChildren()).toMatchObject({ specs: left, active: left });
  });

  it("too often, together with the others, ends the supervisor and all of them", async () => {
    const sessions = await many();
    const pids = [await sessions.startLike(), await sessions.startLike(), await sessions.startLike()];
    const end = house.system.exited(sessions.pid);
    await fail(pids[0]);
    await fail(pids[1]);
    expect(await end).toEqual({ type: "shutdown" });
    expect(house.system.population).toBe(0);
    expect(house.restarts.at(-1)).toMatchObject({ gaveUp: true, intensityLeft: -1 });
    expect(house.reports).toEqual([
      expect.stringContaining('restarts child "a"'),
      expect.stringContaining("there is no supervisor above to try again"),
    ]);
  });

  it("and whose restart fails is retried, and the retry counts", async () => {
    const { start } = planned("a", ["up", "fail", "fail", "up"]);
    const sessions = await many({ start }, { intensity: 3 });
    await fail(await sessions.startLike());
    expect(house.restarts.map(({ intensityLeft }) => intensityLeft)).toEqual([2, 1, 0]);
    expect(await sessions.countChildren()).toMatchObject({ specs: 1, active: 1 });
  });

  it("and asks to be ignored at its restart is dropped", async () => {
    let starts = 0;
    const start: Callbacks<ExitInput> = {
      init: () => (starts++ === 0 ? undefined : ignore),
      handle: (_ctx, reason) => stop(reason),
    };
    const sessions = await many({ start });
    await fail(await sessions.startLike());
    expect(await sessions.countChildren()).toMatchObject({ specs: 0 });
  });

  it("waits with backoff, is listed meanwhile, and can still be terminated by its former pid", async () => {
    const sessions = await many({}, { backoff: { minMs: 100, maxMs: 1_000, jitter: 0 }, intensity: 5 });
    const [first, second] = [await sessions.startLike(), await sessions.startLike()];
    await fail(first);
    await fail(second);
    expect((await sessions.whichChildren()).map(({ status }) => status)).toEqual([
      "restarting",
      "restarting",
    ]);
    await sessions.terminateChild(first as Pid);
    await house.clock.advance(99);
    expect(running()).toHaveLength(0);
    await house.clock.advance(1);
    expect(running()).toHaveLength(1);
    await expect(sessions.terminateChild(second as Pid)).rejects.toMatchObject({ problem: "not_found" });
    expect(await sessions.countChildren()).toMatchObject({ specs: 1, active: 1 });
  });

  it("waits longer after each failed start, however long the start takes", async () => {
    const { start } = planned("a", ["up", "fail", "fail", "fail", "fail", "up"]);
    const backoff = { minMs: 100, maxMs: 400, jitter: 0 };
    const sessions = await many({ start }, { backoff, intensity: 50 });
    await fail(await sessions.startLike());
    await house.clock.advance(5_000);
    expect(house.restarts.map(({ delayMs }) => delayMs)).toEqual([100, 200, 400, 400, 400]);
  });
});
