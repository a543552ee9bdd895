// The screen during a run, and the report at its end. Pure text.

import { bars, sparkline } from "./charts.js";
import { dateText } from "./flights.js";
import type { RouteCount } from "./ranking.js";
import { type Answer, meanOf, meansOfDay, type RouteWindow, sumBy } from "./results.js";
import type { View } from "./run.js";

const BAR = 30;
const HOURS = "0     6     12    18    ";

/** The progress as one line of text. */
export function progressLine({ flights, results, pending, elapsedMs }: View): string {
  const { done, hour } = results;
  const at = hour === undefined ? "at the beginning" : `up to ${dateText(hour)}`;
  return `${(elapsedMs / 1_000).toFixed(1)} s: ${done} of ${flights} flights done, ${pending} under way, ${at}`;
}

/** The whole screen. Lines that do not fit on the terminal are left out. */
export function screenLines(view: View, columns: number, rows: number): readonly string[] {
  const { results, flights } = view;
  const share = flights === 0 ? 1 : results.done / flights;
  const full = Math.floor(share * BAR);
  const lines = [
    `[${"#".repeat(full)}${".".repeat(BAR - full)}] ${Math.floor(share * 100)} %`,
    progressLine(view),
    "",
    `mean delay by hour of day  ${sparkline(meansOfDay(results.rows.values()))}`.trimEnd(),
    `                           ${HOURS}`.trimEnd(),
    "",
    ...routeTable(results, [...results.windows.values()].at(-1)),
  ];
  // A wrapped line takes two rows, and the next drawing would begin too far down.
  return lines.slice(0, Math.max(1, rows - 1)).map((line) => line.slice(0, Math.max(1, columns - 1)));
}

/** The report of a finished run. */
export function reportLines(answer: Answer, top: number): readonly string[] {
  let busiest: RouteWindow | undefined;
  for (const window of answer.windows.values())
    if (window.flights > (busiest?.flights ?? 0)) busiest = window;
  return [...delayChart(answer), "", ...originTable(answer, top), "", ...routeTable(answer, busiest), ""];
}

function delayChart({ rows }: Answer): readonly string[] {
  const means = meansOfDay(rows.values());
  const drawn = bars(means, BAR);
  return [
    "mean delay by hour of day, in minutes",
    ...means.map((mean, hour) => {
      const said = mean === undefined ? "–" : mean.toFixed(1);
      return `${String(hour).padStart(2, "0")}:00 ${said.padStart(6)}  ${drawn[hour]}`.trimEnd();
    }),
  ];
}

function originTable({ rows }: Answer, top: number): readonly string[] {
  const origins = [...sumBy(rows.values(), ({ origin }) => origin)].map(([origin, sum]) => ({
    origin,
    ...sum,
  }));
  const worst = origins
    .filter(({ delay }) => delay > 0)
    .sort((one, other) => other.delay - one.delay || (one.origin < other.origin ? -1 : 1))
    .slice(0, top);
  return [
    "airports with the most minutes of delay",
    ...worst.map(({ origin, flights, delay }, index) => {
      const mean = meanOf({ flights, delay }).toFixed(1);
      const numbers = `${grouped(delay).padStart(8)} min, ${grouped(flights).padStart(5)} flights, mean ${mean.padStart(5)}`;
      return `${place(index)} ${origin.padEnd(4)} ${numbers}`;
    }),
  ];
}

/** The routes since the beginning, and beside them the routes of one window. */
function routeTable({ overall }: Answer, window: RouteWindow | undefined): readonly string[] {
  const head = "busiest routes over all";
  const when =
    window === undefined
      ? ""
      : `in the ${hoursOf(window)} h to ${dateText(window.end)}, of ${grouped(window.flights)} flights`;
  const cell = (one: RouteCount | undefined): string =>
    one === undefined ? "" : `${one.route.padEnd(9)} ${grouped(one.flights).padStart(5)}`;
  const best = window?.best ?? [];
  return [
    `${head.padEnd(28)}${when}`.trimEnd(),
    ...Array.from({ length: Math.max(overall.best.length, best.length) }, (_, index) =>
      `${place(index)} ${cell(overall.best[index]).padEnd(24)}${cell(best[index])}`.trimEnd(),
    ),
  ];
}

function hoursOf({ start, end }: RouteWindow): number {
  return (end - start) / 3_600_000;
}

function place(index: number): string {
  return `${index + 1}`.padStart(3);
}

function grouped(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(?:\d{3})+$)/g, ",");
}
