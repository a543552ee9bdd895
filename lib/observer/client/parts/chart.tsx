// A chart of the last ten minutes of a figure. Its points are those that the page has seen, so it begins when the page is opened.

import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { addPoint, type CoursePoint, closestPoint, coursePath, scaleTop } from "../model/course.js";
import { numberText, type Unit } from "../model/format.js";
import { timeOfDay } from "../shell/browser.js";
import { Num } from "./figures.js";

const WIDTH = 300;
const HEIGHT = 64;
const SPAN_MS = 600_000;
/** A new chart shows a minute, and grows. */
const LEAST_MS = 60_000;

/** Courses of charts that are not shown now: whoever comes back finds them again. */
const courses = new Map<string, readonly CoursePoint[]>();
const COURSES_MOST = 20;

export interface ChartProps {
  /** What it shows. Charts with the same name in other places are other ones: say whose figure it is. */
  readonly label: string;
  readonly name: string;
  readonly at: number;
  readonly value: number | undefined;
  readonly unit?: Unit;
}

export function Chart({ label, name, at, value, unit = "count" }: ChartProps): JSX.Element {
  const area = useRef<SVGSVGElement>(null);
  const [pointed, setPointed] = useState<number>();
  const points = useCourse(name, at, value);
  const to = Math.max(at, points.at(-1)?.at ?? at);
  const from = Math.max(to - SPAN_MS, Math.min(to - LEAST_MS, points[0]?.at ?? to));
  const shown = points.filter((point) => point.at >= from);
  const top = scaleTop(shown.map((point) => point.value));
  const path = coursePath(shown, { width: WIDTH, height: HEIGHT, from, to }, top);
  const point = pointed === undefined ? undefined : closestPoint(shown, from + pointed * (to - from));
  const move = (event: PointerEvent): void => {
    const box = area.current?.getBoundingClientRect();
    if (box !== undefined) setPointed((event.clientX - box.left) / box.width);
  };
  const text = value === undefined ? "not known yet" : numberText(value, unit);
  return (
    <figure class="chart">
      <figcaption>
        <span class="soft">{label}</span>
        <strong>
          {point === undefined ? <Num value={value} unit={unit} /> : numberText(point.value, unit)}
        </strong>
        <span class="soft">{point === undefined ? "" : timeOfDay(point.at).slice(0, 8)}</span>
      </figcaption>
      <svg
        ref={area}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}, now ${text}`}
        onPointerMove={move}
        onPointerLeave={() => setPointed(undefined)}
      >
        <path class="chart-line" d={path} />
        {point === undefined ? null : (
          <path
            class="chart-point"
            d={`M${(((point.at - from) / (to - from)) * WIDTH).toFixed(1)} 0v${HEIGHT}`}
          />
        )}
      </svg>
      <div class="chart-scale soft">
        <span>{timeOfDay(from).slice(0, 8)}</span>
        <span>up to {numberText(top, unit)}</span>
      </div>
    </figure>
  );
}

function useCourse(name: string, at: number, value: number | undefined): readonly CoursePoint[] {
  const before = courses.get(name) ?? [];
  if (value === undefined) return before;
  const points = addPoint(before, { at, value });
  // As the newest, so that the oldest are forgotten first.
  courses.delete(name);
  courses.set(name, points);
  for (const oldest of courses.keys()) {
    if (courses.size <= COURSES_MOST) break;
    courses.delete(oldest);
  }
  return points;
}
