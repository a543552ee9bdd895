// one_for_one, the default: children that do not depend on each other.

import { custom } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, statuses } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

describe("under one_for_one", () => {
  it("children start in the order of the list, and stop in reverse when the supervisor is told to end", async () => {
    const shop = await house.start({ children: [child("a"), child("b"), child("c")] });
    expect(house.news()).toEqual(["a up", "b up", "c up"]);
    house.system.exit(shop.pid, "shutdown");
    await house.system.idle();
    expect(house.news()).toEqual(["c down: shutdown", "b down: shutdown", "a down: shutdown"]);
    expect(house.system.population).toBe(0);
  });

  it("a child that fails is restarted, and its siblings are not affected [V2]", async () => {
    const shop = await house.start({ children: [child("a"), child("b"), child("c")] });
    const before = [house.the("a"), house.the("b"), house.the("c")];
    house.news();
    await house.end("b");
    expect(house.news()).toEqual(['b down: custom "broken"', "b up"]);
    expect([house.the("a"), house.the("c")]).toEqual([before[0], before[2]]);
    expect(house.the("b")).not.toBe(before[1]);
    expect(await statuses(shop)).toBe("a running, b running, c running");
  });

  it("two children that fail at once are both restarted, one after the other", async () => {
    await house.start({ intensity: 2, children: [child("a"), child("b")] });
    house.news();
    house.system.exit(house.the("b"), custom("broken"));
    house.system.exit(house.the("a"), custom("broken"));
    await house.system.idle();
    expect(house.news()).toEqual(['b down: custom "broken"', 'a down: custom "broken"', "b up", "a up"]);
  });

  it("a restart emits an event with the child, the reason, the strategy and the restarts left [V16]", async () => {
    const shop = await house.start({ intensity: 2, children: [child("a"), child("b")] });
    await house.end("b");
    expect(house.restarts).toEqual([
      {
        supervisor: shop.pid,
        id: "b",
        reason: custom("broken"),
        strategy: "one_for_one",
        siblings: [],
        intensity: 2,
        intensityLeft: 1,
        periodMs: 5_000,
        delayMs: 0,
        gaveUp: false,
      },
    ]);
  });
});
