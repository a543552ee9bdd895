// How children are stopped: told to, given their time, killed; one after the other, last first.

import { type Callbacks, custom, defineServer, type Shutdown, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, stubborn } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

const stubbornChild = (id: string, shutdown?: Shutdown): ReturnType<typeof child> =>
  child(id, { start: stubborn, ...(shutdown === undefined ? {} : { shutdown }) });

describe("a child that is told to stop", () => {
  it("and does, is not awaited any longer", async () => {
    const shop = await house.start({ children: [child("a", { shutdown: 1_000 })] });
    await shop.terminateChild("a");
    expect(house.news()).toEqual(["a up", "a down: shutdown"]);
    expect(house.clock.now).toBe(0);
    expect(house.system.kernel.pendingTimers).toBe(0);
  });

  it("and does not, is killed when its time is up, by default 5 seconds [V7]", async () => {
    const shop = await house.start({ children: [stubbornChild("a"), stubbornChild("b", 200)] });
    house.news();
    const gone = [shop.terminateChild("b"), shop.terminateChild("a")];
    await house.clock.advance(199);
    expect(house.news()).toEqual([]);
    await house.clock.advance(1);
    expect(house.news()).toEqual(["b down: killed"]);
    await house.clock.advance(4_999);
    expect(house.news()).toEqual([]);
    await house.clock.advance(1);
    expect(house.news()).toEqual(["a down: killed"]);
    await Promise.all(gone);
  });

  it("with shutdown Infinity has unlimited time", async () => {
    const shop = await house.start({ children: [stubbornChild("a", Number.POSITIVE_INFINITY)] });
    const gone = shop.terminateChild("a");
    await house.clock.advance(1e9);
    expect(house.find("a")).toHaveLength(1);
    house.system.exit(house.the("a"), "kill");
    await gone;
  });

  it("with shutdown brutal_kill is killed without being told to stop", async () => {
    const shop = await house.start({ children: [stubbornChild("a", "brutal_kill")] });
    await shop.terminateChild("a");
    expect(house.news()).toEqual(["a up", "a down: killed"]);
  });

  it("with shutdown 0 is told to stop, and killed in the same millisecond", async () => {
    const shop = await house.start({ children: [stubbornChild("a", 0)] });
    const gone = shop.terminateChild("a");
    await house.clock.advance(0);
    await gone;
    expect(house.news()).toEqual(["a up", "a down: killed"]);
  });

  it("runs its terminate when it traps exits, and its supervisor waits for terminate", async () => {
    const log: string[] = [];
    const tidy: Callbacks<never> = {
      init: (ctx) => void ctx.trapExit(true),
      handle: () => undefined,
      terminate: async (_ctx, reason) => {
        await Promise.resolve();
        log.push(`tidied up: ${reason.type}`);
      },
    };
    const shop = await house.start({ children: [child("a", { start: tidy })] });
    await shop.terminateChild("a");
    expect(log).toEqual(["tidied up: shutdown"]);
    expect(house.news()).toEqual(["a up", "a down: shutdown"]);
  });
});

describe("a supervisor that ends", () => {
  it("gives each child its time, one after the other, the last started first", async () => {
    const shop = await house.start({
      children: [stubbornChild("a", 100), child("b"), stubbornChild("c", 50)],
    });
    house.news();
    house.system.exit(shop.pid, "shutdown");
    await house.clock.advance(50);
    expect(house.news()).toEqual(["c down: killed", "b down: shutdown"]);
    await house.clock.advance(100);
    expect(house.news()).toEqual(["a down: killed"]);
    expect(house.system.isAlive(shop.pid)).toBe(false);
  });

  it("ends with the reason that it was given", async () => {
    const shop = await house.start({ children: [child("a")] });
    const end = house.system.exited(shop.pid);
    house.system.exit(shop.pid, custom("moving house"));
    expect(await end).toEqual(custom("moving house"));
  });

  it("waits without limit for a branch, as the branch waits for its own children", async () => {
    const branch = supervisor({ children: [stubbornChild("slow", 60_000)] });
    const root = await house.start({ children: [child("branch", { start: branch })] });
    house.system.exit(root.pid, "shutdown");
    await house.clock.advance(59_999);
    expect(house.system.isAlive(root.pid)).toBe(true);
    await house.clock.advance(1);
    expect(house.system.population).toBe(0);
  });

  it("by a kill cannot stop its children; they end with it, along their links", async () => {
    const branch = supervisor({ children: [child("b")] });
    const root = await house.start({ children: [child("a"), child("branch", { start: branch })] });
    house.system.exit(root.pid, "kill");
    await house.system.idle();
    expect(house.system.population).toBe(0);
    expect(house.news()).toContain("a down: killed");
  });

  it("does not serve requests any more; pending requests end with it", async () => {
    const shop = await house.start({ children: [stubbornChild("a", 100)] });
    house.system.exit(shop.pid, "shutdown");
    await house.system.idle();
    const late = shop.startChild(child("b")).catch((e) => e.code);
    await house.clock.advance(100);
    expect(await late).toBe("ERR_CALLEE_EXITED");
    expect(house.news()).not.toContain("b up");
  });

  it("stops as in a stop of the system, which stops the roots in reverse order", async () => {
    await house.start({ children: [child("a"), child("b")] });
    await house.start({ children: [child("c")] });
    house.news();
    await house.system.stop();
    expect(house.news()).toEqual(["c down: shutdown", "b down: shutdown", "a down: shutdown"]);
  });
});

describe("a call to a server that its supervisor stops", () => {
  it("ends with the server", async () => {
    const Silent = defineServer({ init: () => ({}), calls: { never: () => new Promise(() => undefined) } });
    const shop = await house.start({ children: [child("a", { start: Silent, name: "silent" })] });
    const call = Silent.at(house.system, "silent").call.never();
    const outcome = call.catch((e) => e);
    await shop.terminateChild("a");
    expect(await outcome).toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "shutdown" } });
  });
});
