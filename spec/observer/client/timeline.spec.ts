// The timeline of a flow stands along the time: each row in its place, with its failed attempts, and nothing outside.

import { test as check, fc } from "@fast-check/vitest";
import { expect, test } from "vitest";
import type { TimelineItem } from "../../../lib/flow/operations/timeline.js";
import { shownTimeline, spanOf } from "../../../lib/observer/client/model/timeline.js";

const item = (key: string, more: Partial<TimelineItem> = {}): TimelineItem => ({
  ...{ kind: "step", key, status: "waiting", attempts: [] },
  ...more,
});
const flow = { createdAt: 1_000 };

test("a row stands where its step was asked for and decided, with a mark for each failed attempt [N1585]", () => {
  const items = [
    item("charge", { status: "done", at: 1_000, endedAt: 1_250, seq: 0 }),
    item("ship", { status: "retrying", at: 1_250, attempts: [{ attempt: 1, at: 1_500, error: "no van" }] }),
  ];
  const shown = shownTimeline({ flow, items, at: 2_000, isCut: false });
  expect([shown.from, shown.to]).toEqual([1_000, 2_000]);
  expect(shown.rows).toMatchObject([
    { bar: { left: 0, width: 0.25 }, marks: [], tookMs: 250 },
    { bar: { left: 0.25, width: 0.75 }, marks: [0.5], tookMs: 750 },
  ]);
  expect(shown.open.map(({ key }) => key)).toEqual(["ship"]);
});

test("of a journal that was read in part, the timeline begins with what was read [N1585]", () => {
  const items = [item("old", { status: "done", endedAt: 5_000 }), item("new", { at: 5_000 })];
  const { from, to, rows } = shownTimeline({ flow, items, at: 6_000, isCut: true });
  expect([from, to]).toEqual([5_000, 6_000]);
  expect(rows.map(({ tookMs }) => tookMs)).toEqual([undefined, 1_000]);
});

test("a flow that has ended has a timeline that stands still", () => {
  const look = { flow: { ...flow, finishedAt: 1_800 }, items: [item("a", { at: 1_200 })], isCut: false };
  expect(shownTimeline({ ...look, at: 9_000 })).toEqual(shownTimeline({ ...look, at: 90_000 }));
});

const times = fc.option(fc.nat(10_000), { nil: undefined });
const items = fc
  .array(fc.record({ at: times, endedAt: times, failed: fc.array(fc.nat(10_000), { maxLength: 3 }) }), {
    maxLength: 12,
  })
  .map((all) =>
    all.map(({ at, endedAt, failed }, i) =>
      item(`${i}`, {
        ...(at !== undefined && { at }),
        ...(endedAt !== undefined && { endedAt }),
        attempts: failed.map((when, n) => ({ attempt: n + 1, at: when })),
      }),
    ),
  );

check.prop([items, fc.nat(10_000), fc.boolean()])(
  "every bar and mark is inside the timeline, whatever the clocks say [N1585]",
  (all, at, isCut) => {
    const { rows } = shownTimeline({ flow, items: all, at, isCut });
    expect(rows).toHaveLength(all.length);
    for (const { bar, marks } of rows) {
      expect(bar.left >= 0 && bar.width > 0 && bar.left + bar.width <= 1 + 1e-9).toBe(true);
      for (const mark of marks) expect(mark >= 0 && mark < 1).toBe(true);
    }
  },
);

test("a moment can be seen", () => {
  expect(spanOf(0, 100_000, 50_000, 50_000).width).toBeGreaterThan(0.003);
});
