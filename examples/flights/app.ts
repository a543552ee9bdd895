// The application: arguments in, a run, one last line and an exit code out.

import { createLogUpdate } from "log-update";
import { command, type Output } from "./command-line.js";
import { type Flight, readFlights } from "./flights.js";
import { HELP, parseOptions } from "./options.js";
import { type RunResult, run } from "./run.js";
import { progressLine, type Show, screenLines } from "./screen.js";
import { compare, straightTotals } from "./totals.js";

/** @returns the exit code: 0 all is well, 1 the ledger is wrong, 2 the options or the file are */
export function main(args: readonly string[], out: Output, err: Output): Promise<number> {
  return command(args, out, err, {
    parse: parseOptions,
    help: HELP,
    run: async (options) => {
      const flights = await readFlights(options.file);
      const result = await run({ ...options, flights, show: showOn(out) });
      out.write(`${summary(flights)}\n`);
      const { line, good } = lastLine(flights, result);
      out.write(`${line}\n`);
      return good ? 0 : 1;
    },
  });
}

/** A terminal is drawn over, ten times a second; anything else gets a line each second. */
function showOn(out: Output): Show {
  if (out.isTTY !== true) return { everyMs: 1_000, show: (view) => out.write(`${progressLine(view)}\n`) };
  const draw = createLogUpdate(out as NodeJS.WriteStream, { showCursor: true });
  return {
    everyMs: 100,
    show: (view) => draw(screenLines(view, out.columns ?? 80, out.rows ?? 24).join("\n")),
  };
}

function summary(flights: readonly Flight[]): string {
  const hours = straightTotals(flights);
  const mean = (delay: number, count: number): string =>
    `${(count === 0 ? 0 : delay / count).toFixed(1)} min`;
  const total = hours.reduce((sum, { delay }) => sum + delay, 0);
  const busiest = hours.reduce(
    (most, { flights: count }, hour) => (count > hours[most]!.flights ? hour : most),
    0,
  );
  const { delay, flights: count } = hours[busiest]!;
  return `mean delay ${mean(total, flights.length)}; ${mean(delay, count)} in the busiest hour, from ${busiest}:00`;
}

/** What is wrong, if anything is, is measured flight by flight; see totals.ts. */
export function lastLine(
  flights: readonly Flight[],
  { account, crashes, reroutes, failures }: Pick<RunResult, "account" | "crashes" | "reroutes" | "failures">,
): { readonly line: string; readonly good: boolean } {
  const { lost, duplicated, exact } = compare(flights, account);
  const restarts = [...crashes.values()].reduce((sum, times) => sum + times, 0);
  const [failure] = failures;
  const failed =
    failure === undefined ? "" : `, ${failures.length} dispatches failed (${failure.message.slice(0, 200)})`;
  return {
    line:
      `${flights.length} flights, ${restarts} crashes, ${reroutes} re-routes, ${lost} lost, ` +
      `${duplicated} duplicated, sums ${exact ? "exact" : "differ"}${failed}`,
    good: lost === 0 && duplicated === 0 && exact && failure === undefined,
  };
}
