// The course of some figures over time, as the page has seen it: the latest points, and what a chart draws of them.

/** A value at a time. */
export interface CoursePoint {
  readonly at: number;
  readonly value: number;
}

/** Points of a course that are kept: ten minutes, one a second. */
const MOST = 600;

/** A course with one more point. A value at the same time replaces the one before. */
export function addPoint(points: readonly CoursePoint[], point: CoursePoint): readonly CoursePoint[] {
  const last = points.at(-1);
  if (last !== undefined && point.at < last.at) return points;
  const kept = last?.at === point.at ? points.slice(0, -1) : points;
  return [...kept.slice(-(MOST - 1)), point];
}

export interface CourseBox {
  readonly width: number;
  readonly height: number;
  readonly from: number;
  readonly to: number;
}

/** The top of the scale: the next of 1, 2, 5, 10, … above the largest value. */
export function scaleTop(values: readonly number[]): number {
  const largest = Math.max(0, ...values);
  if (largest === 0 || !Number.isFinite(largest)) return 1;
  const size = 10 ** Math.floor(Math.log10(largest));
  return ([1, 2, 5, 10].find((factor) => factor * size >= largest) as number) * size;
}

/** The line through the points. It has a gap where the page was not kept up to date. */
export function coursePath(points: readonly CoursePoint[], box: CourseBox, top: number): string {
  const shown = points.filter(({ at }) => at >= box.from && at <= box.to);
  let before: CoursePoint | undefined;
  let path = "";
  for (const point of shown) {
    const isNext = before !== undefined && point.at - before.at <= GAP_MS;
    path += `${isNext ? "L" : "M"}${placeOf(point, box, top)}`;
    before = point;
  }
  return path;
}

/** Two points that are further apart have no line between them. */
const GAP_MS = 10_000;

const placeOf = ({ at, value }: CoursePoint, { width, height, from, to }: CourseBox, top: number): string =>
  `${(((at - from) / (to - from)) * width).toFixed(1)} ${(height - (value / top) * height).toFixed(1)}`;

/** The point that is closest to a time. */
export function closestPoint(points: readonly CoursePoint[], at: number): CoursePoint | undefined {
  let closest: CoursePoint | undefined;
  for (const point of points)
    if (closest === undefined || Math.abs(point.at - at) < Math.abs(closest.at - at)) closest = point;
  return closest;
}
