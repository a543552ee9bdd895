// rest_for_one: children that depend on those before them in the list.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, planned, statuses } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

const strategy = "rest_for_one";

describe("under rest_for_one", () => {
  it("when a child fails, the children after it stop in reverse order, and all of these start in order [V4]", async () => {
    await house.start({ strategy, children: [child("a"), child("b"), child("c"), child("d")] });
    const a = house.the("a");
    house.news();
    await house.end("b");
    expect(house.news()).toEqual([
      'b down: custom "broken"',
      "d down: shutdown",
      "c down: shutdown",
      "b up",
      "c up",
      "d up",
    ]);
    expect(house.the("a")).toBe(a);
    expect(house.restarts).toMatchObject([{ id: "b", strategy, siblings: ["c", "d"] }]);
  });

  it("the last child restarts alone, the first child restarts all", async () => {
    await house.start({ strategy, intensity: 2, children: [child("a"), child("b")] });
    house.news();
    await house.end("b");
    expect(house.news()).toEqual(['b down: custom "broken"', "b up"]);
    await house.end("a");
    expect(house.news()).toEqual(['a down: custom "broken"', "b down: shutdown", "a up", "b up"]);
  });

  it("a later child whose restart fails is retried only with the children after it", async () => {
    const c = planned("c", ["up", "fail", "up"]);
    const shop = await house.start({
      strategy,
      intensity: 2,
      children: [child("a"), child("b"), c, child("d")],
    });
    house.news();
    await house.end("b");
    expect(house.news()).toEqual([
      'b down: custom "broken"',
      "d down: shutdown",
      "c down: shutdown",
      "b up",
      "c up",
      "c down: crash, Error: c cannot",
      "c up",
      "d up",
    ]);
    expect(await statuses(shop)).toBe("a running, b running, c running, d running");
  });
});
