// one_for_all: children that all depend on each other; none is any use without the rest.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, planned, statuses } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

const strategy = "one_for_all";

describe("under one_for_all", () => {
  it("when a child fails, the others stop in reverse order and all start in order [V3]", async () => {
    await house.start({ strategy, children: [child("a"), child("b"), child("c")] });
    house.news();
    await house.end("b");
    expect(house.news()).toEqual([
      'b down: custom "broken"',
      "c down: shutdown",
      "a down: shutdown",
      "a up",
      "b up",
      "c up",
    ]);
    expect(house.restarts).toMatchObject([{ id: "b", strategy, siblings: ["a", "c"] }]);
  });

  it("a temporary child that is stopped with a sibling is not restarted", async () => {
    const shop = await house.start({
      strategy,
      children: [child("a"), child("b", { restart: "temporary" })],
    });
    await house.end("a");
    expect(await statuses(shop)).toBe("a running");
  });

  it("the end of a child that is not restarted leaves the others alone", async () => {
    const shop = await house.start({
      strategy,
      children: [child("a"), child("b", { restart: "transient" })],
    });
    await house.end("b", "normal");
    expect(await statuses(shop)).toBe("a running, b stopped");
  });

  it("a sibling whose restart fails stops the siblings that restarted, and all are retried", async () => {
    const b = planned("b", ["up", "fail", "up"]);
    const shop = await house.start({ strategy, intensity: 2, children: [child("a"), b, child("c")] });
    house.news();
    await house.end("c");
    expect(house.news()).toEqual([
      'c down: custom "broken"',
      "b down: shutdown",
      "a down: shutdown",
      "a up",
      "b up",
      "b down: crash, Error: b cannot",
      "a down: shutdown",
      "a up",
      "b up",
      "c up",
    ]);
    expect(house.restarts.map(({ id, intensityLeft }) => [id, intensityLeft])).toEqual([
      ["c", 1],
      ["b", 0],
    ]);
    expect(await statuses(shop)).toBe("a running, b running, c running");
  });
});
