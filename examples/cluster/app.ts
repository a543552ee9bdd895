// The application: arguments in, a run, the sums, one last line and an exit code out.

import { command, type Output } from "../flights/command-line.js";
import { type Flight, readFlights } from "../flights/flights.js";
import { compare, type HourTotals, ledgerTotals, straightTotals } from "../flights/totals.js";
import { findServer, HOW_TO_INSTALL, startServer } from "./nats-server.js";
import { HELP, type Options, parseOptions } from "./options.js";
import { type Flown, fly } from "./tower.js";

/**
 * @param folders - where nats-server may be. Default: those of PATH
 * @returns the exit code: 0 all is well, 1 the sums are wrong or a part failed, 2 the options or the file are wrong, 3 there is no
 * nats-server, 130 `signal` ended the run
 */
export async function main(
  args: readonly string[],
  out: Output,
  err: Output,
  signal: AbortSignal,
  folders?: readonly string[],
): Promise<number> {
  const say = (line: string): void => void out.write(`${line}\n`);
  const run = async (options: Options): Promise<number> => {
    const flights = await readFlights(options.file);
    const program = findServer(folders);
    if (program === undefined) {
      err.write(HOW_TO_INSTALL);
      return 3;
    }
    await using server = await startServer(program);
    say(`nats-server listens on ${server.address}, as process ${server.pid}`);
    const flown = await Promise.race([
      fly({ ...options, flights, servers: server.address, say, signal }),
      server.failed,
    ]);
    const { lines, good } = result(flights, options.nodes, flown);
    for (const line of lines) say(line);
    return good ? 0 : 1;
  };
  try {
    return await command(args, out, err, { parse: parseOptions, help: HELP, run });
  } catch (error) {
    const isStopped = signal.aborted;
    err.write(`${isStopped ? "stopped: the nodes and nats-server have ended" : (error as Error).message}\n`);
    return isStopped ? 130 : 1;
  }
}

/** The sums of the nodes beside those of a plain loop over the file, and the last line. */
export function result(
  flights: readonly Flight[],
  nodes: number,
  { account, kills, reroutes, byNode, failures }: Flown,
): { readonly lines: readonly string[]; readonly good: boolean } {
  const { lost, duplicated, exact } = compare(flights, account);
  const [failure] = failures;
  const failed = failure === undefined ? [] : [`${failures.length} dispatches failed: ${failure.message}`];
  const shares = [...byNode].sort().map(([name, count]) => `${name} ${count.toLocaleString("en")}`);
  return {
    lines: [
      `answered by    ${shares.join(", ")}`,
      `by the nodes   ${sums(ledgerTotals(account))}`,
      `by one loop    ${sums(straightTotals(flights))}`,
      ...failed,
      `${flights.length} flights, ${nodes} nodes, ${kills} kills, ${reroutes} re-routes, ${lost} lost, ` +
        `${duplicated} duplicated, sums ${exact ? "exact" : "differ"}`,
    ],
    good: lost === 0 && duplicated === 0 && exact && failure === undefined,
  };
}

function sums(hours: readonly HourTotals[]): string {
  const total = (of: (hour: HourTotals) => number): string =>
    hours.reduce((sum, hour) => sum + of(hour), 0).toLocaleString("en");
  return `${total((hour) => hour.flights)} flights, ${total((hour) => hour.delay)} minutes late, ${total((hour) => hour.distance)} miles`;
}
