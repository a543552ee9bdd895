// Restarts that wait: longer each time, with a little chance in it, until the child has run calmly for a while.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, planned, statuses } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

const backoff = { minMs: 100, maxMs: 1_000, jitter: 0 };
const intensity = Number.POSITIVE_INFINITY;
const waits = (): number[] => house.restarts.map(({ delayMs }) => delayMs);

describe("with backoff", () => {
  it("a restart waits, twice as long each time, up to the longest wait [V11]", async () => {
    const shop = await house.start({ backoff, intensity, children: [child("a"), child("b")] });
    for (const wait of [100, 200, 400, 800, 1_000, 1_000]) {
      await house.end("a");
      expect(await statuses(shop)).toBe("a restarting, b running");
      await house.clock.advance(wait - 1);
      expect(house.find("a")).toEqual([]);
      await house.clock.advance(1);
      expect(house.find("a")).toHaveLength(1);
    }
    expect(waits()).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it("a child that ran for `resetAfterMs` starts again from the first wait; after a shorter time it does not", async () => {
    const given = { ...backoff, resetAfterMs: 5_000 };
    await house.start({ backoff: given, intensity, children: [child("a")] });
    for (const calm of [0, 4_999, 5_000, 0]) {
      await house.end("a");
      await house.clock.advance(house.restarts.at(-1)?.delayMs ?? 0);
      await house.clock.advance(calm);
    }
    await house.end("a");
    expect(waits()).toEqual([100, 200, 400, 100, 200]);
  });

  it("`resetAfterMs` is by default the longest wait", async () => {
    await house.start({ backoff, intensity, children: [child("a")] });
    await house.end("a");
    await house.clock.advance(100 + 1_000);
    await house.end("a");
    expect(waits()).toEqual([100, 100]);
  });

  it("the time of failed starts does not count for `resetAfterMs`", async () => {
    const a = planned("a", ["up", "fail", "fail", "fail", "fail", "fail", "up"]);
    const shop = await house.start({ backoff, intensity, children: [a] });
    await house.end("a");
    await house.clock.advance(10_000);
    expect(waits()).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    expect(await statuses(shop)).toBe("a running");
  });

  it("each child has waits of its own", async () => {
    await house.start({ backoff, intensity, children: [child("a"), child("b")] });
    await house.end("a");
    await house.clock.advance(100);
    await house.end("a");
    await house.end("b");
    expect(house.restarts.map(({ id, delayMs }) => [id, delayMs])).toEqual([
      ["a", 100],
      ["a", 200],
      ["b", 100],
    ]);
  });

  it("jitter spreads the waits around their plain length", async () => {
    const given = { minMs: 100, maxMs: 100, jitter: 0.5, resetAfterMs: 0 };
    await house.start({ backoff: given, intensity, children: [child("a")] });
    for (let i = 0; i < 20; i++) {
      await house.end("a");
      await house.clock.advance(150);
    }
    expect(Math.min(...waits())).toBeGreaterThanOrEqual(50);
    expect(Math.max(...waits())).toBeLessThanOrEqual(150);
    expect(new Set(waits()).size).toBe(20);
  });

  it("restarts with backoff count against the intensity too", async () => {
    const shop = await house.start({ backoff, intensity: 1, children: [child("a")] });
    await house.end("a");
    await house.clock.advance(100);
    await house.end("a");
    expect(house.system.isAlive(shop.pid)).toBe(false);
  });

  it("siblings that depend on the child stop at once, and start after the wait", async () => {
    await house.start({ backoff, strategy: "rest_for_one", children: [child("a"), child("b"), child("c")] });
    house.news();
    await house.end("b");
    expect(house.news()).toEqual(['b down: custom "broken"', "c down: shutdown"]);
    await house.clock.advance(100);
    expect(house.news()).toEqual(["b up", "c up"]);
  });

  it("a child that waits is not started before a child that it depends on and that fails meanwhile", async () => {
    await house.start({
      backoff,
      intensity,
      strategy: "rest_for_one",
      children: [child("a"), child("b")],
    });
    house.news();
    await house.end("b");
    await house.clock.advance(50);
    await house.end("a");
    await house.clock.advance(100);
    expect(house.news()).toEqual(['b down: custom "broken"', 'a down: custom "broken"', "a up", "b up"]);
  });

  it("requests are served during the wait: a child that is terminated then is not started", async () => {
    const shop = await house.start({ backoff, children: [child("a")] });
    await house.end("a");
    await shop.startChild(child("b"));
    await shop.terminateChild("a");
    await house.clock.advance(1_000);
    expect(await statuses(shop)).toBe("a stopped, b running");
  });

  it("a supervisor that is told to end does not wait for the backoff", async () => {
    const shop = await house.start({ backoff, children: [child("a"), child("b")] });
    await house.end("a");
    house.system.exit(shop.pid, "shutdown");
    await house.system.idle();
    expect(house.system.population).toBe(0);
    expect(house.system.kernel.pendingTimers).toBe(0);
  });
});
