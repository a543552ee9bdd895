// The closing line of .ci/run: the counts that its parts left behind, after what failed.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const build = fileURLToPath(new URL("../.build", import.meta.url));
/** Lines of a failure that are told again at the end, where whoever sees the last lines alone finds them. */
const LINES = 12;

let passed = 0;
let failed = 0;
for (const name of ["vitest", "prove", "checks", "storm", "storm-cluster"]) {
  const path = join(build, `${name}.json`);
  if (!existsSync(path)) continue;
  const { passed: good, failures = [] } = JSON.parse(readFileSync(path, "utf8"));
  for (const { test, why } of failures)
    console.log(`FAIL  ${test}\n${why.split("\n").slice(0, LINES).join("\n")}`);
  passed += good;
  failed += failures.length;
}
const file = join(build, "problems");
const problems = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
for (const problem of problems) console.log(`FAIL  ${problem}`);
// A part fails for its failed tests, or has left no count: then it counts as one failure.
failed = Math.max(failed, problems.length);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
