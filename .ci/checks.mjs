// The checks of the package. Ends with the counts of these checks, of the test runs before them, and of Storm's.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { checks as bundles } from "./bundles.mjs";
import { checks as contents } from "./package.mjs";
import { checks as quickStart } from "./quick-start.mjs";
import { checks as runtimes } from "./runtimes.mjs";
import { root, Skipped, work } from "./support.mjs";

let passed = 0;
let failed = 0;
for (const [name, check] of Object.entries({ ...contents, ...quickStart, ...bundles, ...runtimes })) {
  try {
    await check();
    passed++;
    console.log(`ok    ${name}`);
  } catch (error) {
    if (error instanceof Skipped) console.log(`skip  ${name}: ${error.message}`);
    else {
      failed++;
      console.log(`FAIL  ${name}\n${error.stdout ?? ""}${error.stderr ?? ""}${error.message}`);
    }
  }
}
rmSync(work, { recursive: true, force: true });

/** Counts that an earlier step of .ci/run left behind, if it ran. */
function add(file, read) {
  const path = join(root, ".build", file);
  if (!existsSync(path)) return;
  const counts = read(JSON.parse(readFileSync(path, "utf8")));
  passed += counts.passed;
  failed += counts.failed;
}
const ofVitest = ({ numPassedTests, numFailedTests }) => ({ passed: numPassedTests, failed: numFailedTests });
add("vitest.json", ofVitest);
add("prove.json", ofVitest);
add("storm.json", (counts) => counts);
process.exitCode = failed === 0 ? 0 : 1;
console.log(`${passed} passed, ${failed} failed`);
