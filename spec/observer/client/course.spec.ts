// The course of a figure.

import { describe, expect, it, test } from "vitest";
import {
  addPoint,
  type CoursePoint,
  closestPoint,
  coursePath,
  scaleTop,
} from "../../../lib/observer/client/model/course.js";

const BOX = { width: 100, height: 10, from: 0, to: 10_000 };
const point = (at: number, value: number): CoursePoint => ({ at, value });

describe("a course", () => {
  it("keeps ten minutes of points, one for a time, and none that come too late", () => {
    let points: readonly CoursePoint[] = [];
    for (let n = 0; n < 2_000; n++) points = addPoint(points, point(n * 1_000, n));
    expect(points).toHaveLength(600);
    expect(points.at(-1)).toEqual(point(1_999_000, 1_999));
    expect(addPoint(points, point(1_999_000, 5)).at(-1)).toEqual(point(1_999_000, 5));
    expect(addPoint(points, point(5, 5))).toBe(points);
  });

  it("is a line from left to right, with a gap where no point was seen", () => {
    expect(coursePath([point(0, 0), point(5_000, 5), point(10_000, 10), point(20_000, 1)], BOX, 10)).toBe(
      "M0.0 10.0L50.0 5.0L100.0 0.0",
    );
    expect(coursePath([point(0, 0), point(10_001, 5)], { ...BOX, to: 20_000 }, 10)).toBe(
      "M0.0 10.0M50.0 5.0",
    );
  });

  it("has the point that the reader is closest to", () => {
    expect(closestPoint([point(0, 1), point(4, 2), point(10, 3)], 6)).toEqual(point(4, 2));
    expect(closestPoint([], 6)).toBeUndefined();
  });
});

test.each([
  [[], 1],
  [[0, 0], 1],
  [[0.3], 0.5],
  [[7, 12], 20],
  [[100], 100],
  [[501], 1_000],
])("the scale of %j ends at %d", (values, top) => {
  expect(scaleTop(values)).toBeCloseTo(top);
});
