// Places in memory: who gets one, who waits for one, and who is asked to leave.

import { describe, expect, it } from "vitest";
import { type Guest, Room } from "../../../lib/flow/runtime/room.js";

function guest(asked: string[], name: string, mayLeave = true): Guest {
  return { mayLeave, leave: () => void asked.push(name) };
}

describe("a room", () => {
  it("calls flows that were refused in their order, and keeps their places until they come [J23]", () => {
    const room = new Room(1);
    expect([room.enter(1), room.enter(2, true), room.enter(3, true)]).toEqual([true, false, false]);
    expect(room.next()).toBeUndefined();
    room.exit();
    expect(room.next()).toBe(2);
    expect([room.isFull, room.awaits(2), room.awaits(3)]).toEqual([true, true, true]);
    expect(room.start()).toBe(false);
    expect([room.enter(2), room.awaits(2)]).toEqual([true, false]);
    room.exit();
    expect(room.next()).toBe(3);
    expect([room.decline(3), room.decline(3), room.isFull]).toEqual([true, false, false]);
  });

  it("keeps a bounded list of those that the store knows; a flow that starts overtakes no other [J23]", () => {
    const room = new Room(1);
    expect([room.start(), room.enter(1), room.enter(2), room.enter(3, true)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect([room.awaits(1), room.awaits(2), room.awaits(3)]).toEqual([true, false, true]);
    expect(room.takesMore()).toBe(false);
    room.exit();
    expect(room.start()).toBe(false);
    expect([room.takesMore(), room.takesMore()]).toEqual([true, false]);
    expect(room.start()).toBe(false);
    expect(room.next()).toBe(1);
  });

  it("asks as many idle flows to leave as others wait, the one first that waits longest [J23]", () => {
    const room = new Room(2);
    const asked: string[] = [];
    const [a, b, c] = ["a", "b", "c"].map((name) => guest(asked, name)) as [Guest, Guest, Guest];
    room.idle(guest(asked, "napping", false), true);
    for (const one of [a, b]) room.idle(one, true);
    for (const number of [1, 2]) room.enter(number);
    expect(asked).toEqual([]);
    room.enter(3);
    expect(asked).toEqual(["a"]);
    room.enter(3);
    expect(asked).toEqual(["a"]);
    room.idle(a, false);
    room.enter(4);
    expect(asked).toEqual(["a", "b"]);
    room.idle(c, true);
    expect(asked).toEqual(["a", "b", "c"]);
  });
});
