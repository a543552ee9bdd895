// `npm run chaos:flows`: kills hosts of flows, and says in one line whether anything was lost, repeated or doubled.

import { fileURLToPath } from "node:url";
import { ChaosUsageError } from "../command-line.js";
import { everyPoint } from "./every-point.js";
import type { KillReport } from "./kills.js";
import { type ChaosOptions, readChaosOptions } from "./options.js";
import { killOnPostgres, killOnSqlite, strikePostgres } from "./runs.js";

const child = [fileURLToPath(new URL("child.js", import.meta.url))];

function progress(done: number, what = ""): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} ${what.padEnd(8)}`);
}

function run({ everyPoint: points, store, ...rest }: ChaosOptions): Promise<KillReport> {
  if (points) return everyPoint({ seed: rest.seed, child, progress });
  const options = { ...rest, child, progress };
  if (rest.hosts > 1) return strikePostgres(options);
  return store === "postgres" ? killOnPostgres(options) : killOnSqlite(options);
}

try {
  const report = await run(readChaosOptions(process.argv.slice(2)));
  if (!report.clean) {
    const { lost, repeated, bookings, wrong } = report.findings;
    for (const line of [...lost.map((id) => `${id} has no end`), ...repeated, ...bookings, ...wrong])
      console.log(line);
    console.log(`store and record are in ${report.folder}`);
  }
  console.log(report.line);
  process.exitCode = report.clean ? 0 : 1;
} catch (error) {
  console.error(`chaos:flows: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof ChaosUsageError ? 2 : 1;
}
