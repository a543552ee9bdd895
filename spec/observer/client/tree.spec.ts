// The supervision tree at a time.

import { describe, expect, it } from "vitest";
import type { Incident } from "../../../lib/admin/history/operations.js";
import type { SupervisorSummary } from "../../../lib/admin/system/operations.js";
import {
  histogram,
  LOOK_BACK_MS,
  marksOf,
  openAtFirst,
  rootsOf,
  sliderRange,
  storyOf,
  until,
  usedAt,
} from "../../../lib/observer/client/model/tree.js";

const supervisor = (pid: string, parent?: string): SupervisorSummary => ({
  pid,
  parent,
  strategy: "one_for_one",
  intensity: 3,
  periodMs: 5_000,
  restarts: 0,
  children: 2,
});

const incident = (number: number, at: number, more: Partial<Incident> = {}): Incident => ({
  number,
  at,
  lastAt: at,
  kind: "crash",
  count: 1,
  text: "",
  ...more,
});

const restart = (number: number, at: number, id: string, more: Partial<Incident> = {}): Incident =>
  incident(number, at, {
    kind: "restart",
    restart: {
      supervisor: "shop.1",
      id,
      strategy: "one_for_all",
      siblings: id === "till" ? ["stock"] : [],
      intensity: 3,
      intensityLeft: 2,
      periodMs: 5_000,
      delayMs: 100,
    },
    ...more,
  });

describe("the structure", () => {
  const supervisors = [
    supervisor("shop.1"),
    supervisor("shop.2", "shop.1"),
    supervisor("shop.9", "shop.2"),
    supervisor("shop.5", "shop.0"),
  ];

  it("has those on top whose parent is no supervisor", () => {
    expect(rootsOf(supervisors).map(({ pid }) => pid)).toEqual(["shop.1", "shop.5"]);
  });

  it("is open from the top down, as far as there is room", () => {
    expect([...openAtFirst(supervisors, 3)]).toEqual(["shop.1", "shop.5", "shop.2"]);
    expect(openAtFirst(supervisors, 10).size).toBe(4);
    expect(openAtFirst([], 10).size).toBe(0);
  });
});

describe("at a time", () => {
  const incidents = [
    restart(6, 9_000, "till", { count: 2, lastAt: 9_500 }),
    incident(5, 8_990, { pid: "shop.7" }),
    restart(4, 3_000, "stock", { cause: 3 }),
    incident(3, 2_990, { pid: "shop.4" }),
  ];

  it("a child has the marks of that time, and none of what came later [N1584]", () => {
    const marks = (id: string, at: number): unknown => {
      const { restarts, latest } = marksOf(until(incidents, at), "shop.1", id);
      return { restarts, latest: latest?.number };
    };
    expect(marks("stock", 2_999)).toEqual({ restarts: 0, latest: undefined });
    expect(marks("stock", 3_050)).toEqual({ restarts: 1, latest: 4 });
    // One that is restarted with another child has been restarted, too.
    expect(marks("stock", 20_000)).toEqual({ restarts: 3, latest: 6 });
    expect(marks("till", 20_000)).toEqual({ restarts: 2, latest: 6 });
    expect(marks("stock", 3_000 + LOOK_BACK_MS)).toEqual({ restarts: 2, latest: 6 });
    expect(marks("else", 20_000)).toEqual({ restarts: 0, latest: undefined });
    expect(marksOf(until(incidents, 20_000), "shop.2", "till").restarts).toBe(0);
  });

  it("the intensity that is used is that of the period before", () => {
    const used = (at: number): number | undefined => usedAt(until(incidents, at), supervisor("shop.1"), at);
    expect([2_999, 3_000, 7_999, 8_000, 9_600].map(used)).toEqual([0, 1, 1, 0, 2]);
    expect(
      usedAt([], { pid: "shop.1", intensity: null as unknown as number, periodMs: 5 }, 1),
    ).toBeUndefined();
  });
});

describe("the story of a crash", () => {
  const incidents = [
    incident(9, 40, { kind: "deadLetter", cause: 7 }),
    incident(8, 30, { kind: "reroute", cause: 5 }),
    restart(7, 20, "till", { cause: 5 }),
    incident(6, 15),
    incident(5, 10),
  ];

  it("has all that came from it, also from what came from it", () => {
    for (const number of [5, 7, 8, 9]) {
      const story = storyOf(incidents, number);
      expect(story?.crash.number).toBe(5);
      expect(story?.restarts.map((one) => one.number)).toEqual([7]);
      expect(story?.reroutes.map((one) => one.number)).toEqual([8]);
      expect(story?.others.map((one) => one.number)).toEqual([9]);
    }
    expect(storyOf(incidents, 6)?.restarts).toEqual([]);
    expect(storyOf(incidents, 99)).toBeUndefined();
  });

  it("ends where a cause is no longer kept, or names itself", () => {
    expect(storyOf([incident(5, 10, { cause: 2 })], 5)?.crash.number).toBe(5);
    expect(storyOf([incident(5, 10, { cause: 5 })], 5)?.crash.number).toBe(5);
  });
});

it("the slider reaches ten minutes back, or to the minute in which the history begins [N1627]", () => {
  const now = 10_000_000;
  const length = (since: number | undefined): readonly unknown[] => {
    const { from, to, isShort } = sliderRange(now, since);
    return [to - from, isShort];
  };
  expect(length(undefined)).toEqual([600_000, false]);
  expect(length(0)).toEqual([600_000, false]);
  expect(length(now)).toEqual([60_000, true]);
  expect(length(now + 500)).toEqual([60_000, true]);
  expect(length(now - 61_000)).toEqual([120_000, true]);
  expect(length(now - 599_000)).toEqual([600_000, true]);
});

it("the slider shows how much went wrong when", () => {
  const incidents = [
    incident(1, 0, { count: 3 }),
    incident(2, 49),
    incident(3, 50),
    incident(4, 100),
    incident(5, -1),
  ];
  expect(histogram(incidents, 0, 100, 4)).toEqual([3, 1, 1, 0]);
});
