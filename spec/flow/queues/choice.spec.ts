// Which waiting flows may start: limits, ranks, and turns between keys.

import { describe, expect, it } from "vitest";
import {
  type Candidate,
  choose,
  keyRoomOf,
  type QueueLimits,
  roomOf,
  type Use,
} from "../../../lib/flow/queues/choice.js";

const free: QueueLimits = {
  ...{ concurrency: Number.POSITIVE_INFINITY, perHost: Number.POSITIVE_INFINITY },
  ...{ perKey: Number.POSITIVE_INFINITY, rate: undefined, keyRate: undefined },
};
const use = (running: number, recent = 0): Use => ({ running, recent, freeAt: undefined });
const line = (...flows: string[]): Candidate[] =>
  flows.map((flow, number) => ({ number, flow, lane: flow.charAt(0), rank: Number(flow.charAt(2) || 0) }));
const flowsOf = (choice: readonly Candidate[]): string[] => choice.map(({ flow }) => flow);

describe("room", () => {
  it("is what the tightest limit leaves", () => {
    expect(roomOf(free, use(1_000), 1_000)).toBe(Number.POSITIVE_INFINITY);
    expect(roomOf({ ...free, concurrency: 10 }, use(7), 0)).toBe(3);
    expect(roomOf({ ...free, concurrency: 10, perHost: 4 }, use(7), 2)).toBe(2);
    expect(roomOf({ ...free, concurrency: 10, rate: { limit: 5, periodMs: 1 } }, use(7, 4), 0)).toBe(1);
    // A takeover may hold more than the host may admit.
    expect(roomOf({ ...free, perHost: 2 }, use(5), 5)).toBe(0);
    expect(keyRoomOf({ ...free, perKey: 2, keyRate: { limit: 9, periodMs: 1 } }, use(1, 5))).toBe(1);
    expect(keyRoomOf({ ...free, keyRate: { limit: 5, periodMs: 1 } }, use(0, 7))).toBe(0);
  });
});

describe("the choice", () => {
  it("lets the keys of a rank take turns [U5]", () => {
    const candidates = line("a1", "a2", "a3", "a4", "b1", "c1", "c2");
    const { chosen, left } = choose(free, candidates, new Map(), 5);
    expect(flowsOf(chosen)).toEqual(["a1", "b1", "c1", "a2", "c2"]);
    expect(flowsOf(left)).toEqual(["a3", "a4"]);
  });

  it("takes lower ranks first, whatever their key [U4]", () => {
    const candidates = line("b10", "b20", "a11", "a21");
    expect(flowsOf(choose(free, candidates, new Map(), 3).chosen)).toEqual(["b10", "b20", "a11"]);
  });

  it("passes over keys that are at their limit, and lets lower ranks of others go [U2]", () => {
    const lanes = new Map([
      ["a", use(1)],
      ["b", use(1)],
    ]);
    const candidates = line("a10", "a20", "b10", "b20", "c11", "b31");
    const { chosen } = choose({ ...free, perKey: 2 }, candidates, lanes, 10);
    expect(flowsOf(chosen)).toEqual(["a10", "b10", "c11"]);
  });

  it("counts a key over all ranks [U2]", () => {
    expect(flowsOf(choose({ ...free, perKey: 1 }, line("a10", "a21"), new Map(), 9).chosen)).toEqual(["a10"]);
  });

  it("of no room is empty", () => {
    expect(choose(free, line("a1"), new Map(), 0)).toEqual({ chosen: [], left: line("a1") });
  });
});
