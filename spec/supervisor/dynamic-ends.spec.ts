// How dynamic children are stopped: one by its pid, or all at once, under one timer.

import { type Callbacks, type ExitInput, ignore, type Pid, stop } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hanging, stubborn, worker } from "./house.js";
import { broken, Sessions } from "./sessions.js";

let house: Sessions;
beforeEach(() => {
  house = new Sessions();
});
afterEach(() => house.close());

const many: Sessions["many"] = (more, options) => house.many(more, options);
const fail: Sessions["fail"] = (pid, reason) => house.fail(pid, reason);
const running = (): Pid<unknown>[] => house.running();

describe("terminateChild by pid", () => {
  it("stops one child, which is not restarted", async () => {
    const sessions = await many();
    const [first, second] = [await sessions.startLike(), await sessions.startLike()];
    await sessions.terminateChild(first as Pid);
    expect(running()).toEqual([second]);
    expect(house.system.kernel.pendingTimers).toBe(0);
  });

  it("answers every caller that asked for it", async () => {
    const sessions = await many({ start: stubborn, shutdown: 100 });
    const pid = (await sessions.startLike()) as Pid;
    const asked = Promise.all([sessions.terminateChild(pid), sessions.terminateChild(pid)]);
    await house.clock.advance(100);
    await asked;
    expect(running()).toEqual([]);
  });

  it("of a child in mid-start ends that start for good", async () => {
    const sessions = await many({ start: hanging });
    const outcome = sessions.startLike().catch((e) => e.problem);
    await house.system.idle();
    await sessions.terminateChild(house.the("a"));
    expect(await outcome).toBe("start_failed");
    expect(await sessions.countChildren()).toMatchObject({ specs: 0 });
  });

  it("of a child in mid-restart ends that restart for good", async () => {
    let starts = 0;
    const start: Callbacks<ExitInput> = {
      init: () => (starts++ === 0 ? undefined : new Promise(() => undefined)),
      handle: (_ctx, reason) => stop(reason),
    };
    const sessions = await many({ start });
    await fail(await sessions.startLike());
    await sessions.terminateChild(house.the("a"));
    await house.system.idle();
    expect(running()).toEqual([]);
    expect(starts).toBe(2);
  });

  it("of a child whose init then asks to be ignored is answered", async () => {
    let end = (): void => undefined;
    const start: Callbacks<ExitInput> = {
      init: (ctx) => {
        ctx.trapExit(true);
        return new Promise((resolve) => {
          end = () => resolve(ignore);
        });
      },
      handle: (_ctx, reason) => stop(reason),
    };
    const sessions = await many({ start, shutdown: 100 });
    const added = sessions.startLike();
    await house.system.idle();
    const terminated = sessions.terminateChild(house.the("a"));
    await house.system.idle();
    end();
    await terminated;
    expect(await added).toBeUndefined();
    expect(house.system.kernel.pendingTimers).toBe(0);
  });

  it("of an unknown pid is refused, and so is an id", async () => {
    const sessions = await many();
    await sessions.startLike();
    await expect(sessions.terminateChild(sessions.pid)).rejects.toMatchObject({ problem: "not_found" });
    await expect(sessions.terminateChild("a" as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
  });
});

describe("a dynamic supervisor", () => {
  it("restarts a child that fails, and leaves its siblings alone [V12]", async () => {
    const sessions = await many();
    const pids: unknown[] = [];
    for (let i = 0; i < 3; i++) pids.push(await sessions.startLike());
    house.news();
    await fail(pids[1] as Pid);
    expect(house.news()).toEqual(['a down: custom "broken"', "a up"]);
    expect(running()).toEqual([pids[0], pids[2], expect.anything()]);
  });

  it("starts no more than `maxChildren`: a child that starts, stops or waits for its restart counts [V12]", async () => {
    let starts = 0;
    const start: Callbacks<ExitInput> = {
      init: (ctx) => {
        const number = ++starts;
        if (number === 3) ctx.trapExit(true);
        return number === 2 ? new Promise(() => undefined) : undefined;
      },
      handle: (_ctx, reason) => stop(reason),
      parentExit: () => undefined,
    };
    const sessions = await many(
      { start, shutdown: 100 },
      { maxChildren: 4, backoff: { minMs: 1_000, maxMs: 1_000 } },
    );
    await sessions.startLike();
    sessions.startLike().catch(() => undefined);
    const stopping = sessions.terminateChild((await sessions.startLike()) as Pid);
    await fail(await sessions.startLike());
    const refused = { code: "ERR_CHILD", problem: "max_children" };
    await expect(sessions.startLike()).rejects.toMatchObject(refused);
    expect(starts).toBe(4);

    await house.clock.advance(100);
    await stopping;
    expect(await sessions.startLike()).toBeDefined();
    await expect(sessions.startLike()).rejects.toMatchObject(refused);
    expect(starts).toBe(5);
  });
});

describe("a dynamic supervisor that ends", () => {
  it("tells all its children to stop at once, and the children share one shutdown time [V12]", async () => {
    let stubborns = 0;
    const start: Callbacks<never> = { ...stubborn, init: (ctx) => void ctx.trapExit(stubborns++ > 0) };
    const sessions = await many({ start, shutdown: 100 });
    for (let i = 0; i < 3; i++) await sessions.startLike();
    const end = house.system.exited(sessions.pid);
    house.news();
    house.system.exit(sessions.pid, broken);
    await house.clock.advance(99);
    expect(house.news()).toEqual(["a down: shutdown"]);
    await house.clock.advance(1);
    expect(house.news()).toEqual(["a down: killed", "a down: killed"]);
    expect(await end).toEqual(broken);
  });

  it("kills its children at once under brutal_kill, and waits without limit under Infinity", async () => {
    const brutal = await many({ start: stubborn, shutdown: "brutal_kill" });
    await brutal.startLike();
    house.system.exit(brutal.pid, "shutdown");
    await house.system.idle();
    expect(house.system.population).toBe(0);

    const patient = await many({ start: stubborn, shutdown: Number.POSITIVE_INFINITY });
    await patient.startLike();
    house.system.exit(patient.pid, "shutdown");
    await house.clock.advance(1e9);
    expect(house.system.isAlive(patient.pid)).toBe(true);
    house.system.exit(house.the("a"), "kill");
    await house.system.idle();
    expect(house.system.population).toBe(0);
  });

  it("waits for a child that is already being terminated, and answers the caller that asked for it", async () => {
    const sessions = await many({ start: stubborn, shutdown: 100 });
    const pid = (await sessions.startLike()) as Pid;
    const asked = sessions.terminateChild(pid);
    await house.clock.advance(60);
    house.system.exit(sessions.pid, "shutdown");
    const again = sessions.terminateChild(pid);
    await house.clock.advance(40);
    await Promise.all([asked, again]);
    expect(house.system.population).toBe(0);
  });

  it("does not wait for a start in progress, nor for a start that is due later", async () => {
    const sessions = await many({ start: hanging });
    const outcome = sessions.startLike().catch((e) => e.code);
    await house.system.idle();
    house.system.exit(sessions.pid, "shutdown");
    expect(await outcome).toBe("ERR_CHILD");

    const waiting = await many({ start: worker }, { backoff: { minMs: 1_000, maxMs: 1_000 } });
    await fail(await waiting.startLike());
    house.system.exit(waiting.pid, "shutdown");
    await house.system.idle();
    expect(house.system.population).toBe(0);
  });

  it("without children left to stop ends at once", async () => {
    const sessions = await many();
    house.system.exit(sessions.pid, "shutdown");
    await house.system.idle();
    expect(house.system.population).toBe(0);
  });
});
