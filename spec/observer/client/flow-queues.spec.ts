// What the pages on schedules and queues of flows say.

import { describe, expect, test } from "vitest";
import type { QueueInfo } from "../../../lib/flow/queues/info.js";
import { SCHEDULE_DEFAULTS, type ScheduleDefinition } from "../../../lib/flow/schedules/definition.js";
import {
  exceptionWords,
  limitWords,
  ruleWords,
  waitWords,
} from "../../../lib/observer/client/model/flow-queues.js";

const rules = (given: Partial<ScheduleDefinition>): ScheduleDefinition => {
  const { timeZone, missed, overlap, backfill } = SCHEDULE_DEFAULTS;
  return { timeZone, missed, overlap, backfill, jitterMs: 0, graceMs: 60_000, ...given };
};

test.each([
  [{ cron: "30 2 * * *", timeZone: "Europe/Berlin" }, "30 2 * * * (Europe/Berlin)"],
  [{ everyMs: 5_400_000 }, "every 1 h 30 min"],
  [{ at: [1] }, "1 single time"],
  [{ at: [1, 2] }, "2 single times"],
])("a schedule with %j is due %s", (given, words) => {
  expect(ruleWords(rules(given))).toBe(words);
});

test("a schedule says what it does about missed times and running flows [N1636]", () => {
  expect(exceptionWords(rules({ everyMs: 1 }))).toEqual({
    missed: "Due times that hosts see more than 1 min late start one flow, for the last of them.",
    overlap: "A due time while the flow of the one before runs starts the next one beside it.",
  });
  const { missed } = exceptionWords(rules({ everyMs: 1, missed: "all" }));
  expect(missed).toContain("start a flow each, the last 100 at most.");
});

test("the limits of a queue are said in words, also when there are none, or nobody has declared it", () => {
  const rate = { limit: 100, periodMs: 60_000 };
  expect(
    limitWords({ concurrency: 5, perHost: 2, rate, perKey: 1, keyRate: { limit: 3, periodMs: 1_000 } }),
  ).toBe("5 at once, 2 on a host, 100 in 1 min, 1 of a key at once, 3 in 1 s of a key");
  expect([limitWords({}), limitWords(undefined)]).toEqual(["none", "unknown: no host has declared it"]);
});

describe("flows of a queue wait", () => {
  const queue = (given: Partial<QueueInfo>): QueueInfo => ({
    ...{ name: "emails", running: 0, waiting: 4, heldByRate: 0, limits: {} },
    ...given,
  });
  const rate = { limit: 3, periodMs: 1_000 };
  test.each<[string, Partial<QueueInfo>, string | undefined]>([
    ["not at all", { waiting: 0 }, undefined],
    ["for the only slot", { running: 1, limits: { concurrency: 1 } }, "Its slot is taken."],
    ["for a slot", { running: 5, limits: { concurrency: 5 } }, "All of its 5 slots are taken."],
    [
      "for the rate",
      { heldByRate: 2, recent: 3, limits: { rate, concurrency: 5 } },
      "3 of 3 flows have started in 1 s: the rate holds 2 back.",
    ],
    [
      "for something else",
      { limits: { concurrency: 5 } },
      "Its own limits let more start: those of their keys or of a host hold them back, or no host has their definitions.",
    ],
  ])("%s [N1636]", (_why, given, words) => {
    expect(waitWords(queue(given))).toBe(words);
  });

  test("for a host that declares it [N1636]", () => {
    const { limits: _none, ...undeclared } = queue({});
    expect(waitWords(undeclared)).toContain("No host has declared this queue");
  });
});
