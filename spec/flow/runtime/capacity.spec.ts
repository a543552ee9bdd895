// Places in memory: who gets one, who waits for one, and who is asked to leave.

import { describe, expect, it } from "vitest";
import { Capacity, type Evictable } from "../../../lib/flow/runtime/capacity.js";

function flow(asked: string[], name: string, mayLeave = true): Evictable {
  return { mayLeave, leave: () => void asked.push(name) };
}

describe("the capacity of a host", () => {
  it("calls flows that were refused in their order, and keeps their places until they come [J23]", () => {
    const capacity = new Capacity(1);
    expect([capacity.enter(1), capacity.enter(2, true), capacity.enter(3, true)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(capacity.next()).toBeUndefined();
    capacity.exit();
    expect(capacity.next()).toBe(2);
    expect([capacity.isFull, capacity.awaits(2), capacity.awaits(3)]).toEqual([true, true, true]);
    expect(capacity.start()).toBe(false);
    expect([capacity.enter(2), capacity.awaits(2)]).toEqual([true, false]);
    capacity.exit();
    expect(capacity.next()).toBe(3);
    expect([capacity.decline(3), capacity.decline(3), capacity.isFull]).toEqual([true, false, false]);
  });

  it("keeps a bounded list of those that the store knows; a flow that starts overtakes no other [J23]", () => {
    const capacity = new Capacity(1);
    expect([capacity.start(), capacity.enter(1), capacity.enter(2), capacity.enter(3, true)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect([capacity.awaits(1), capacity.awaits(2), capacity.awaits(3)]).toEqual([true, false, true]);
    expect(capacity.takesMore()).toBe(false);
    capacity.exit();
    expect(capacity.start()).toBe(false);
    expect([capacity.takesMore(), capacity.takesMore()]).toEqual([true, false]);
    expect(capacity.start()).toBe(false);
    expect(capacity.next()).toBe(1);
  });

  it("asks as many idle flows to leave as others wait, the one first that waits longest [J23]", () => {
    const capacity = new Capacity(2);
    const asked: string[] = [];
    const [a, b, c] = ["a", "b", "c"].map((name) => flow(asked, name)) as [Evictable, Evictable, Evictable];
    capacity.idle(flow(asked, "napping", false), true);
    for (const one of [a, b]) capacity.idle(one, true);
    for (const number of [1, 2]) capacity.enter(number);
    expect(asked).toEqual([]);
    capacity.enter(3);
    expect(asked).toEqual(["a"]);
    capacity.enter(3);
    expect(asked).toEqual(["a"]);
    capacity.idle(a, false);
    capacity.enter(4);
    expect(asked).toEqual(["a", "b"]);
    capacity.idle(c, true);
    expect(asked).toEqual(["a", "b", "c"]);
  });
});
