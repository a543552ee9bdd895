// `npm run chaos:nodes`: strikes the nodes of a cluster, and says in one line whether a dispatch was lost.

import { fileURLToPath } from "node:url";
import { ChaosUsageError } from "../command-line.js";
import { readChaosOptions } from "./options.js";
import { strikeNodes } from "./run.js";
import { strikeThreads } from "./threads-run.js";

const program = new URL("threads-program.js", import.meta.url).href;
const child = [fileURLToPath(new URL("node.js", import.meta.url))];

function progress(done: number, what: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${done} ${what.padEnd(8)}`);
}

try {
  const options = readChaosOptions(process.argv.slice(2));
  const report =
    options.carrier === "threads"
      ? await strikeThreads({ ...options, program, progress })
      : await strikeNodes({ ...options, child, progress });
  for (const line of report.findings) console.log(line);
  const failed = [...report.failures].map(([code, count]) => `${count} ${code}`);
  console.log([`${report.acknowledged} acknowledged`, ...failed].join(", "));
  const { names } = report;
  if (names !== undefined)
    console.log(
      `${names.holders} holders of names, ${names.accepted} writes, ${names.refused} of old holders refused`,
    );
  console.log(report.line);
  process.exitCode = report.clean ? 0 : 1;
} catch (error) {
  console.error(`chaos:nodes: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = error instanceof ChaosUsageError ? 2 : 1;
}
