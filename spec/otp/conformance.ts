// What `npm run conformance -- FILE...` does: replays trace files and prints every difference to OTP.

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { type Difference, replay } from "./replay.js";
import { parseTraces, type Scenario } from "./trace.js";

const USAGE = "usage: npm run conformance -- FILE...   (files of OTP traces, see spec/otp/README.md)";

/** Where the command writes: differences and the count to `print`, what is wrong with its arguments to `complain`. */
export interface Output {
  print(line: string): void;
  complain(line: string): void;
}

/** Runs the command. Gives its exit code: 0 all as in OTP, 1 something differs, 2 a file that is no trace file. */
export async function conformance(paths: readonly string[], { print, complain }: Output): Promise<number> {
  if (paths.length === 0) {
    complain(USAGE);
    return 2;
  }
  const files: [string, Scenario[]][] = [];
  for (const path of paths) {
    try {
      files.push([path, parseTraces(readFileSync(fromCaller(path), "utf8"))]);
    } catch (error) {
      complain(`${path}: ${error instanceof Error ? error.message : String(error)}`);
      return 2;
    }
  }
  let passed = 0;
  let failed = 0;
  for (const [path, scenarios] of files) {
    const outcome = await replay(scenarios);
    for (const difference of outcome.differences) print(describe(path, difference));
    passed += outcome.passed;
    failed += outcome.failed;
  }
  print(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** npm runs a script in the package's folder; a path is meant from where the user stands. */
function fromCaller(path: string): string {
  const { INIT_CWD, npm_lifecycle_event } = process.env;
  return npm_lifecycle_event === "conformance" && INIT_CWD !== undefined ? resolve(INIT_CWD, path) : path;
}

function describe(path: string, { scenario, step, op, processes, expected, got }: Difference): string {
  const by = processes === undefined ? "" : `, by ${processes}`;
  return [
    `${path}: scenario ${scenario}, step ${step}${by}: ${JSON.stringify(op)}`,
    `  expected ${JSON.stringify(expected)}`,
    `  got      ${JSON.stringify(got)}`,
  ].join("\n");
}
