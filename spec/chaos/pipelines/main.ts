// `npm run chaos:pipelines`: kills hosts of a pipeline, and says in one line whether anything was lost or duplicated.

import { fileURLToPath } from "node:url";
import { ChaosUsageError } from "../command-line.js";
import { everyPoint } from "./every-point.js";
import type { KillReport } from "./kills.js";
import { type ChaosOptions, readChaosOptions } from "./options.js";
import { killOnJetstream, killOnPostgres, killOnSqlite } from "./runs.js";

const child = [fileURLToPath(new URL("child.js", import.meta.url))];

function progress(done: number): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} `);
}

function run({ queue, everyPoint: points, ...rest }: ChaosOptions): Promise<KillReport> {
  if (points) return everyPoint({ seed: rest.seed, child, progress });
  const options = { ...rest, child, progress };
  return { sqlite: killOnSqlite, postgres: killOnPostgres, jetstream: killOnJetstream }[queue](options);
}

try {
  const report = await run(readChaosOptions(process.argv.slice(2)));
  if (!report.clean) {
    const { lost, duplicated, wrong } = report.findings;
    for (const [what, inputs] of Object.entries({ lost, duplicated }))
      for (const n of inputs) console.log(`input ${n} is ${what}`);
    for (const line of wrong) console.log(line);
    console.log(`store, inputs and record are in ${report.folder}`);
  }
  console.log(report.line);
  process.exitCode = report.clean ? 0 : 1;
} catch (error) {
  console.error(`chaos:pipelines: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof ChaosUsageError ? 2 : 1;
}
