// Significant children: those whose own end means that the work of the whole supervisor is done.

import { type AutoShutdown, custom } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { child, House, statuses } from "./house.js";

let house: House;
beforeEach(() => {
  house = new House();
});
afterEach(() => house.close());

const significant = { significant: true, restart: "transient" } as const;

describe("auto-shutdown", () => {
  it("any_significant: the first significant child that is done ends the supervisor [V10]", async () => {
    const shop = await house.start({
      autoShutdown: "any_significant",
      children: [child("a", significant), child("b", significant), child("c")],
    });
    const end = house.system.exited(shop.pid);
    house.news();
    await house.end("a", "normal");
    expect(house.news()).toEqual(["a down: normal", "c down: shutdown", "b down: shutdown"]);
    expect(await end).toEqual({ type: "shutdown" });
  });

  it("all_significant: the last significant child that is done ends the supervisor", async () => {
    const shop = await house.start({
      autoShutdown: "all_significant",
      children: [child("a", significant), child("b", { ...significant, restart: "temporary" }), child("c")],
    });
    await house.end("a", "normal");
    expect(house.system.isAlive(shop.pid)).toBe(true);
    await house.end("b", custom("broken"));
    expect(house.system.isAlive(shop.pid)).toBe(false);
  });

  it.each<AutoShutdown>(["any_significant", "all_significant"])(
    "%s does not count a child that is terminated, nor a child that is stopped with a sibling",
    async (autoShutdown) => {
      const shop = await house.start({
        strategy: "one_for_all",
        autoShutdown,
        children: [child("a"), child("b", { significant: true, restart: "temporary" })],
      });
      await house.end("a");
      expect(await statuses(shop)).toBe("a running");
      await shop.startChild(child("c", significant));
      await shop.terminateChild("c");
      expect(await statuses(shop)).toBe("a running, c stopped");
    },
  );

  it("does not count a crash after which the child is restarted", async () => {
    const shop = await house.start({ autoShutdown: "any_significant", children: [child("a", significant)] });
    await house.end("a");
    expect(await statuses(shop)).toBe("a running");
  });

  it("does not count the end of a child that is not significant", async () => {
    const shop = await house.start({
      autoShutdown: "any_significant",
      children: [child("a", significant), child("b", { restart: "transient" })],
    });
    await house.end("b", "normal");
    expect(await statuses(shop)).toBe("a running, b stopped");
  });
});
