// The application: takes arguments, runs, and writes a report, one last line and an exit code.

import { repaintDashboard } from "signalbox/topology";
import { command, type Output } from "../flights/command-line.js";
import { type Flight, readFlights } from "./flights.js";
import { HELP, parseOptions } from "./options.js";
import { progressLine, reportLines, screenLines } from "./report.js";
import type { Results } from "./results.js";
import { run, type Show } from "./run.js";
import { differences, straightAnswer } from "./straight.js";
import type { Plan } from "./stream.js";

/** @returns the exit code: 0 for success, 1 for a wrong window, 2 for wrong options or a wrong file */
export function main(args: readonly string[], out: Output, err: Output): Promise<number> {
  return command(args, out, err, {
    parse: parseOptions,
    help: HELP,
    run: async (options) => {
      const flights = await readFlights(options.file);
      const paper = paperOn(out);
      const results = await run({ ...options, flights, show: paper.show });
      paper.end(reportLines(results, options.top));
      const { line, good } = lastLine(flights, options, results);
      out.write(`${line}\n`);
      return good ? 0 : 1;
    },
  });
}

interface Paper {
  readonly show: Show;
  /** Writes the report: where the screen was, if there was one. */
  readonly end: (lines: readonly string[]) => void;
}

/** A terminal is redrawn ten times a second. Any other output gets one line a second. */
function paperOn(out: Output): Paper {
  const print = (lines: readonly string[]): unknown => out.write(lines.map((line) => `${line}\n`).join(""));
  if (out.isTTY !== true)
    return { show: { everyMs: 1_000, show: (view) => print([progressLine(view)]) }, end: print };
  let drawn = 0;
  const draw = (lines: readonly string[]): void => {
    out.write(repaintDashboard(lines, drawn));
    drawn = lines.length;
  };
  return {
    show: { everyMs: 100, show: (view) => draw(screenLines(view, out.columns ?? 80, out.rows ?? 24)) },
    end: draw,
  };
}

/** Every window is compared with the straight loop; see straight.ts. */
export function lastLine(
  flights: readonly Flight[],
  plan: Plan,
  results: Results,
): { readonly line: string; readonly good: boolean } {
  const wrong = [...differences(results, straightAnswer(flights, plan))];
  if (results.done !== flights.length)
    wrong.push(`flights: ${flights.length - results.done} not done, ${results.failed} failed`);
  const hours = new Set([...results.rows.values()].map(({ hour }) => hour));
  const windows = hours.size + results.windows.size;
  const sums = wrong.length === 0 ? "sums exact" : `sums differ: ${wrong.join("; ")}`;
  return {
    line: `${flights.length} flights, ${windows} windows, ${results.overall.known} routes, ${sums}`,
    good: wrong.length === 0,
  };
}
