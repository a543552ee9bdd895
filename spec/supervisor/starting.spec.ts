// How a supervisor comes up: one child after the other, each awaited, or not at all.

import { type Callbacks, FailedChild, ignore, StartError, shutdown, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Gate, gate } from "../support/gate.js";
import { child, House, hanging, planned, statuses } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

/** Comes up when its gate is opened. */
function slow(id: string): { readonly spec: ReturnType<typeof child>; readonly door: Gate<void> } {
  const door = gate();
  const start: Callbacks<never> = { init: () => door.promise, handle: () => undefined };
  return { spec: child(id, { start }), door };
}

describe("a supervisor", () => {
  it("waits for each asynchronous init before it starts the next child", async () => {
    const [a, b] = [slow("a"), slow("b")];
    const starting = house.start({ children: [a.spec, b.spec, child("c")] });
    await house.system.idle();
    expect(house.news()).toEqual(["a up"]);
    a.door.open();
    await house.system.idle();
    expect(house.news()).toEqual(["b up"]);
    b.door.open();
    await starting;
    expect(house.news()).toEqual(["c up"]);
  });

  it("whose child fails to start stops the running children in reverse order, and fails to start too [V8]", async () => {
    const error = await house
      .start({ children: [child("a"), child("b"), planned("c", ["fail"]), child("d")] })
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(StartError);
    const { reason } = error as StartError;
    const detail = reason.type === "shutdown" ? reason.detail : undefined;
    expect(detail).toBeInstanceOf(FailedChild);
    expect(detail).toMatchObject({ id: "c", reason: { type: "crash", error: { message: "c cannot" } } });
    expect(house.news()).toEqual([
      "a up",
      "b up",
      "c up",
      "c down: crash, Error: c cannot",
      "b down: shutdown",
      "a down: shutdown",
    ]);
    expect(house.system.population).toBe(0);
  });

  it("names the failed child and its branch, up to the root", async () => {
    const branch = supervisor({ children: [planned("leaf", ["fail"])] });
    const error = await house.start({ children: [child("branch", { start: branch })] }).catch((e) => e);
    expect(error.reason.detail).toMatchObject({
      id: "branch",
      reason: { type: "shutdown", detail: { id: "leaf", reason: { type: "crash" } } },
    });
  });

  it("continues after a child that asks to be ignored; the spec stays unless the child is temporary", async () => {
    const start: Callbacks<never> = { init: () => ignore, handle: () => undefined };
    const shop = await house.start({
      children: [child("a", { start }), child("b", { start, restart: "temporary" }), child("c")],
    });
    expect(await statuses(shop)).toBe("a stopped, c running");
    expect(await shop.countChildren()).toEqual({ specs: 2, active: 1, supervisors: 0, workers: 2 });
  });

  it("kills a child whose init takes longer than its startTimeoutMs, and says so", async () => {
    const starting = house
      .start({ children: [child("a"), child("b", { start: hanging, startTimeoutMs: 100 })] })
      .catch((e) => e);
    await house.clock.advance(99);
    expect(house.news()).toEqual(["a up", "b up"]);
    await house.clock.advance(1);
    expect((await starting).reason.detail).toMatchObject({
      id: "b",
      reason: shutdown("its init took longer than 100 ms"),
    });
    expect(house.news()).toEqual(["b down: killed", "a down: shutdown"]);
  });

  it("that is told to end does not wait for a slow init: it ends the starting child and stops the rest in order [V9]", async () => {
    const starting = house.start({ children: [child("a"), child("b"), child("c", { start: hanging })] });
    const outcome = starting.catch((e) => e);
    await house.system.idle();
    const root = house.system.processes()[0];
    house.news();
    house.system.exit(root as never, "shutdown");
    expect(await outcome).toMatchObject({ code: "ERR_START", reason: { type: "shutdown" } });
    expect(house.news()).toEqual(["c down: killed", "b down: shutdown", "a down: shutdown"]);
    expect(house.system.population).toBe(0);
  });

  it("lets a branch in mid-start stop its own children in order, however deep the slow init is", async () => {
    const inner = supervisor({ children: [child("x"), child("y"), child("z", { start: hanging })] });
    const outer = supervisor({ children: [child("b"), child("inner", { start: inner })] });
    const outcome = house.start({ children: [child("a"), child("outer", { start: outer })] }).catch((e) => e);
    await house.system.idle();
    house.news();
    house.system.exit(house.system.processes()[0] as never, "shutdown");
    await outcome;
    expect(house.news()).toEqual([
      "z down: killed",
      "y down: shutdown",
      "x down: shutdown",
      "inner down: shutdown",
      "b down: shutdown",
      "outer down: shutdown",
      "a down: shutdown",
    ]);
  });

  it("that is told to end during a restart interrupts the restart as well", async () => {
    let starts = 0;
    const start: Callbacks<never> = {
      init: () => (starts++ === 0 ? undefined : new Promise(() => undefined)),
      handle: () => undefined,
    };
    const shop = await house.start({ children: [child("a"), child("b", { start })] });
    house.system.exit(house.the("b"), "kill");
    await house.system.idle();
    expect(await statuses(shop)).toBe("a running, b restarting");
    const end = house.system.exited(shop.pid);
    house.system.exit(shop.pid, "shutdown");
    expect(await end).toEqual({ type: "shutdown" });
    expect(house.system.population).toBe(0);
  });

  it("answers whichChildren and countChildren while a start is in progress", async () => {
    const slowly = slow("b");
    const shop = await house.start({ children: [child("a")] });
    const adding = shop.startChild(slowly.spec);
    expect(await statuses(shop)).toBe("a running");
    expect((await shop.countChildren()).active).toBe(1);
    slowly.door.open();
    expect(await adding).toBe(house.the("b"));
  });

  it("runs onStart in its own process before its children, and fails with the error that onStart throws", async () => {
    const seen: unknown[] = [];
    const shop = await house.start({
      onStart: (ctx) => seen.push(ctx.self, house.news()),
      children: [child("a")],
    });
    expect(seen).toEqual([shop.pid, []]);
    const bad = house.start({
      onStart: () => {
        throw new Error("not today");
      },
    });
    await expect(bad).rejects.toMatchObject({ code: "ERR_START", cause: { message: "not today" } });
  });

  it("does not start when the name of a child is taken, which counts as a failed child", async () => {
    const children = [child("a", { name: "clerk" }), child("b", { name: "clerk" })];
    const error = await house.start({ children }).catch((e) => e);
    expect(error.reason.detail).toMatchObject({ id: "b", reason: { error: { code: "ERR_NAME_TAKEN" } } });
    expect(house.system.population).toBe(0);
  });
});
