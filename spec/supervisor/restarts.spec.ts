// Which ends are followed by a restart, and how many restarts are too many.

import { custom, type ExitInput, type Restart, shutdown, supervisor } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, planned, statuses } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

describe("a child", () => {
  it.each<[Restart, ExitInput, string]>([
    ["permanent", "normal", "a running"],
    ["permanent", "shutdown", "a running"],
    ["permanent", new Error("broken"), "a running"],
    ["transient", "normal", "a stopped"],
    ["transient", "shutdown", "a stopped"],
    ["transient", shutdown("no more work"), "a stopped"],
    ["transient", custom("broken"), "a running"],
    ["transient", new Error("broken"), "a running"],
    ["temporary", "normal", ""],
    ["temporary", new Error("broken"), ""],
  ])("that is %s and ends with %s: afterwards %j", async (restart, reason, expected) => {
    const shop = await house.start({ children: [child("a", { restart })] });
    await house.end("a", reason);
    expect(await statuses(shop)).toBe(expected);
  });

  it("that is killed has not ended in order: a transient child is restarted", async () => {
    const shop = await house.start({ children: [child("a", { restart: "transient" })] });
    house.system.exit(house.the("a"), "kill");
    await house.system.idle();
    expect(await statuses(shop)).toBe("a running");
  });

  it("keeps its id, its label and its name when its process is replaced at a restart", async () => {
    const shop = await house.start({ intensity: 5, children: [child("a", { name: "clerk" })] });
    for (let i = 0; i < 5; i++) {
      await house.end("a");
      expect(house.system.whereis("clerk")).toBe(house.the("a"));
      expect(await shop.child("a")).toBe(house.the("a"));
    }
    expect(house.restarts).toHaveLength(5);
  });
});

describe("intensity", () => {
  it("is by default 1 restart in 5 seconds: the second failure ends the supervisor with shutdown", async () => {
    const shop = await house.start({ children: [child("a"), child("b")] });
    const end = house.system.exited(shop.pid);
    await house.end("a");
    house.news();
    await house.end("a");
    expect(house.news()).toEqual(['a down: custom "broken"', "b down: shutdown"]);
    expect(await end).toEqual({ type: "shutdown" });
    expect(house.system.population).toBe(0);
  });

  it("counts the restarts of all children together", async () => {
    const shop = await house.start({ children: [child("a"), child("b")] });
    await house.end("a");
    await house.end("b");
    expect(house.system.isAlive(shop.pid)).toBe(false);
  });

  it("0 allows no restart at all", async () => {
    const shop = await house.start({ intensity: 0, children: [child("a")] });
    await house.end("a");
    expect(house.system.isAlive(shop.pid)).toBe(false);
  });

  it("Infinity allows any number", async () => {
    const shop = await house.start({ intensity: Number.POSITIVE_INFINITY, children: [child("a")] });
    for (let i = 0; i < 50; i++) await house.end("a");
    expect(await statuses(shop)).toBe("a running");
    expect(house.restarts.at(-1)?.intensityLeft).toBe(Number.POSITIVE_INFINITY);
  });

  it("no longer counts a restart when the period has passed", async () => {
    const shop = await house.start({ intensity: 1, periodMs: 1_000, children: [child("a")] });
    for (let i = 0; i < 10; i++) {
      await house.end("a");
      await house.clock.advance(1_001);
    }
    expect(house.system.isAlive(shop.pid)).toBe(true);
    await house.end("a");
    await house.clock.advance(1_000);
    await house.end("a");
    expect(house.system.isAlive(shop.pid)).toBe(false);
  });

  it("counts restarts that fail too [V5]", async () => {
    const a = planned("a", ["up", "fail", "fail", "fail"]);
    const shop = await house.start({ intensity: 3, children: [a, child("b")] });
    house.news();
    await house.end("a");
    expect(house.restarts.map(({ intensityLeft, gaveUp }) => [intensityLeft, gaveUp])).toEqual([
      [2, false],
      [1, false],
      [0, false],
      [-1, true],
    ]);
    expect(house.restarts.at(-1)?.reason).toMatchObject({ type: "crash", error: { message: "a cannot" } });
    expect(house.news().at(-1)).toBe("b down: shutdown");
    expect(house.system.isAlive(shop.pid)).toBe(false);
  });

  it("lets a shutdown come between two failing restarts", async () => {
    const a = planned("a", ["up", ...Array<"fail">(1_000).fill("fail")]);
    const shop = await house.start({ intensity: Number.POSITIVE_INFINITY, children: [a] });
    const end = house.system.exited(shop.pid);
    house.system.events.on("restart", () => {
      if (house.restarts.length === 10) house.system.exit(shop.pid, "shutdown");
    });
    await house.end("a");
    expect(await end).toEqual({ type: "shutdown" });
    expect(house.restarts.length).toBeLessThan(20);
  });
});

describe("giving up", () => {
  it("is printed by a root, which has no supervisor above it", async () => {
    await house.start({ intensity: 0, periodMs: 2_000, label: "shop", children: [child("a")] });
    await house.end("a", new Error("no paper"));
    expect(house.reports).toHaveLength(1);
    const [line, ...stack] = house.reports[0]?.split("\n") ?? [];
    expect(line).toBe(
      '<house.1 shop> gave up: child "a" ended once more (crash, Error: no paper) than its restart intensity allows ' +
        "within 2000 ms, and there is no supervisor above to try again",
    );
    expect(stack.join()).toMatch(/^ {4}at .*restarts.spec/);
    expect(house.restarts).toMatchObject([{ id: "a", intensityLeft: -1, gaveUp: true }]);
  });

  it("escalates to the supervisor above, which restarts the whole branch [V6]", async () => {
    const branch = supervisor({ intensity: 1, children: [child("a"), child("b")] });
    const root = await house.start({ children: [{ id: "branch", start: branch }, child("c")] });
    house.news();
    await house.end("a");
    await house.end("a");
    expect(house.news()).toEqual([
      'a down: custom "broken"',
      "a up",
      'a down: custom "broken"',
      "b down: shutdown",
      "branch down: shutdown",
      "branch up",
      "a up",
      "b up",
    ]);
    expect(house.reports).toEqual([
      expect.stringContaining('restarts child "a"'),
      expect.stringMatching(/gave up: child "a" (?!.*no supervisor above)/),
      expect.stringContaining('restarts child "branch"'),
    ]);
    expect(await statuses(root)).toBe("branch running, c running");
  });

  it("multiplies over levels: two restarts on each of two levels are eight in all, and then the root gives up", async () => {
    const branch = supervisor({ intensity: 2, children: [child("a")] });
    const root = await house.start({
      intensity: 2,
      label: "root",
      children: [{ id: "branch", start: branch }],
    });
    const end = house.system.exited(root.pid);
    let ends = 0;
    for (; house.system.isAlive(root.pid); ends++) await house.end("a");
    expect(ends).toBe(9);
    expect(await end).toEqual({ type: "shutdown" });
    const last = house.reports.filter((text) => text.includes("no supervisor above"));
    expect(last).toHaveLength(1);
    expect(last[0]).toContain('child "branch" ended once more (shutdown)');
  });

  it("on a transient branch ends with shutdown, after which a transient child is not restarted", async () => {
    const branch = supervisor({ intensity: 0, children: [child("a")] });
    const root = await house.start({ children: [{ id: "branch", start: branch, restart: "transient" }] });
    await house.end("a");
    expect(await statuses(root)).toBe("branch stopped");
  });
});
