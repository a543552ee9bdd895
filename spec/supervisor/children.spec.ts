// Children added, stopped, restarted, deleted, listed and counted while the supervisor runs.

import { ChildError, dynamicSupervisor, ignore, supervisor, supervisorRef } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, hanging, planned, statuses, stubborn } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

/** What a request is refused with. */
async function problem(request: Promise<unknown>): Promise<ChildError["problem"]> {
  const error = await request.then(
    () => new Error("it was granted"),
    (e: unknown) => e,
  );
  expect(error).toBeInstanceOf(ChildError);
  return (error as ChildError).problem;
}

describe("startChild", () => {
  it("adds a child behind the others, and resolves with its pid", async () => {
    const shop = await house.start({ children: [child("a")] });
    expect(await shop.startChild(child("b"))).toBe(house.the("b"));
    expect(await statuses(shop)).toBe("a running, b running");
    house.system.exit(shop.pid, "shutdown");
    await house.system.idle();
    expect(house.news()).toEqual(["a up", "b up", "b down: shutdown", "a down: shutdown"]);
  });

  it("resolves with undefined for a child that asks to be ignored, and keeps its spec", async () => {
    const shop = await house.start({});
    const start = { init: () => ignore, handle: () => undefined };
    expect(await shop.startChild(child("a", { start }))).toBe(undefined);
    expect(await statuses(shop)).toBe("a stopped");
  });

  it("rejects with the reason and cause of a child that does not start, and drops its spec", async () => {
    const shop = await house.start({});
    const error = await shop.startChild(planned("a", ["fail"])).catch((e) => e);
    expect(error).toMatchObject({
      code: "ERR_CHILD",
      problem: "start_failed",
      reason: { type: "crash" },
      cause: { message: "a cannot" },
    });
    expect(error.message).toBe(`${shop.pid}: child "a" did not start: crash, Error: a cannot`);
    expect(await statuses(shop)).toBe("");
  });

  it("of an id that runs or is known is refused", async () => {
    const shop = await house.start({ children: [child("a"), child("b")] });
    await shop.terminateChild("b");
    expect(await problem(shop.startChild(child("a")))).toBe("already_started");
    expect(await problem(shop.startChild(child("b")))).toBe("already_present");
  });

  it.each([undefined, null, 7, {}, { id: "a" }])("of %j, which is no spec, is refused", async (spec) => {
    const shop = await house.start({});
    await expect(shop.startChild(spec as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
    expect(house.system.isAlive(shop.pid)).toBe(true);
  });

  it("adds a child that restarts by the rules of the others", async () => {
    const shop = await house.start({ strategy: "one_for_all", children: [child("a")] });
    await shop.startChild(child("b"));
    house.news();
    await house.end("a");
    expect(house.news()).toEqual(['a down: custom "broken"', "b down: shutdown", "a up", "b up"]);
  });
});

describe("terminateChild", () => {
  it("stops a child, keeps its spec and does not restart it", async () => {
    const shop = await house.start({ children: [child("a"), child("b")] });
    await shop.terminateChild("a");
    await house.system.idle();
    expect(await statuses(shop)).toBe("a stopped, b running");
  });

  it("again changes nothing", async () => {
    const shop = await house.start({ children: [child("a")] });
    await shop.terminateChild("a");
    await shop.terminateChild("a");
    expect(await statuses(shop)).toBe("a stopped");
  });

  it("drops the spec of a temporary child", async () => {
    const shop = await house.start({ children: [child("a", { restart: "temporary" })] });
    await shop.terminateChild("a");
    expect(await statuses(shop)).toBe("");
    expect(await problem(shop.restartChild("a"))).toBe("not_found");
  });

  it("of an unknown id is refused", async () => {
    const shop = await house.start({ children: [child("a")] });
    expect(await problem(shop.terminateChild("x"))).toBe("not_found");
    await expect(shop.terminateChild(house.the("a") as never)).rejects.toMatchObject({ code: "ERR_OPTION" });
  });

  it("gives up waiting after its timeout, while the supervisor goes on stopping the child", async () => {
    const shop = await house.start({ children: [child("a", { start: stubborn, shutdown: 1_000 })] });
    const outcome = shop.terminateChild("a", { timeoutMs: 100 }).catch((e) => e.code);
    await house.clock.advance(100);
    expect(await outcome).toBe("ERR_CALL_TIMEOUT");
    await house.clock.advance(900);
    expect(await statuses(shop)).toBe("a stopped");
  });
});

describe("restartChild and deleteChild", () => {
  it("restart a stopped child in its old place", async () => {
    const shop = await house.start({ children: [child("a"), child("b")] });
    await shop.terminateChild("a");
    expect(await shop.restartChild("a")).toBe(house.the("a"));
    expect(await statuses(shop)).toBe("a running, b running");
  });

  it("drop a stopped child, whose id is free again", async () => {
    const shop = await house.start({ children: [child("a"), child("b")] });
    await shop.terminateChild("a");
    await shop.deleteChild("a");
    expect(await statuses(shop)).toBe("b running");
    await shop.startChild(child("a"));
    expect(await statuses(shop)).toBe("b running, a running");
  });

  it("keep a child stopped when its start fails", async () => {
    const shop = await house.start({ children: [planned("a", ["up", "fail"])] });
    await shop.terminateChild("a");
    expect(await problem(shop.restartChild("a"))).toBe("start_failed");
    expect(await statuses(shop)).toBe("a stopped");
  });

  it("are refused for children that run or wait for the next attempt, and for unknown ids", async () => {
    const backoff = { minMs: 1_000, maxMs: 1_000 };
    const shop = await house.start({ backoff, children: [child("a"), child("b")] });
    await house.end("b");
    for (const ask of [shop.restartChild.bind(shop), shop.deleteChild.bind(shop)]) {
      expect(await problem(ask("a"))).toBe("running");
      expect(await problem(ask("b"))).toBe("restarting");
      expect(await problem(ask("x"))).toBe("not_found");
    }
  });
});

describe("whichChildren and countChildren", () => {
  it("list the child started last first, with pid, status and type", async () => {
    const branch = supervisor({});
    const shop = await house.start({
      children: [child("a"), child("branch", { start: branch }), child("c")],
    });
    await shop.terminateChild("a");
    expect(await shop.whichChildren()).toEqual([
      { id: "c", pid: house.the("c"), status: "running", type: "worker" },
      { id: "branch", pid: house.the("branch"), status: "running", type: "supervisor" },
      { id: "a", pid: undefined, status: "stopped", type: "worker" },
    ]);
    expect(await shop.countChildren()).toEqual({ specs: 3, active: 2, supervisors: 1, workers: 2 });
  });

  it("give the type of the spec, whatever the child is", async () => {
    const shop = await house.start({ children: [child("a", { type: "supervisor" })] });
    expect(await shop.countChildren()).toMatchObject({ supervisors: 1, workers: 0 });
  });

  it("find one child by its id", async () => {
    const shop = await house.start({ children: [child("a")] });
    expect(await shop.child("a")).toBe(house.the("a"));
    expect(await shop.child("x")).toBe(undefined);
  });
});

describe("a handle", () => {
  it("of a nested supervisor is made from its pid, which its name finds", async () => {
    const branch = supervisor({ name: "branch", children: [child("a")] });
    await house.start({ children: [{ id: "b", start: branch }] });
    const pid = house.system.whereis("branch");
    expect(await statuses(supervisorRef(house.system, pid as never))).toBe("a running");
  });

  it("by name continues with the supervisor that replaces the old one [V32]", async () => {
    const branch = supervisor({ name: "branch", children: [child("a")] });
    await house.start({ children: [{ id: "b", start: branch }] });
    for (const handle of [supervisorRef(house.system, "branch"), branch.at(house.system, "branch")]) {
      const before = handle.pid;
      expect(await statuses(handle)).toBe("a running");
      house.system.exit(before, "kill");
      await house.system.idle();
      expect(handle.pid).not.toBe(before);
      expect(await statuses(handle)).toBe("a running");
      expect(String(handle)).toBe("branch");
      await house.clock.advance(10_000);
    }
  });

  it("by a name without a holder rejects with an error that says so", async () => {
    const handle = supervisorRef(house.system, "branch");
    expect(() => handle.pid).toThrow(expect.objectContaining({ code: "ERR_NO_PROCESS" }));
    await expect(handle.whichChildren()).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED" });
    await expect(handle.startChild(child("a"))).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED" });
  });

  it("is not made from anything else", () => {
    const Sessions = dynamicSupervisor({ child: child("a") });
    for (const address of ["", 5, undefined, {}]) {
      const refused = expect.objectContaining({ code: "ERR_OPTION", path: "address", value: address });
      expect(() => supervisorRef(house.system, address as never)).toThrow(refused);
      expect(() => Sessions.at(house.system, address as never)).toThrow(refused);
    }
  });

  it("prints as the supervisor's pid", async () => {
    const shop = await house.start({ label: "shop" });
    expect(String(shop)).toBe("<house.1 shop>");
  });

  it("of a supervisor with named children has no startLike", async () => {
    const shop = await house.start({});
    const mistaken = dynamicSupervisor({ child: child("a") }).at(house.system, shop.pid);
    await expect(mistaken.startLike([1])).rejects.toMatchObject({ code: "ERR_OPTION", path: "startLike" });
  });

  it("rejects pending requests when the supervisor ends meanwhile", async () => {
    const shop = await house.start({});
    const outcome = shop.startChild(child("a", { start: hanging })).catch((e) => e.code);
    await house.system.idle();
    house.system.exit(shop.pid, "shutdown");
    expect(await outcome).toBe("ERR_CALLEE_EXITED");
    expect(house.system.population).toBe(0);
  });
});
