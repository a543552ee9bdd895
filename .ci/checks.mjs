// The checks of the package. Ends with the counts of these checks, of the test runs before them, and of Storm's.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { checks as bundles } from "./bundles.mjs";
import { checks as contents } from "./package.mjs";
import { checks as quickStart } from "./quick-start.mjs";
import { checks as runtimes } from "./runtimes.mjs";
import { checks as sqliteFiles } from "./sqlite-files.mjs";
import { root, Skipped, work } from "./support.mjs";
import { checks as viewer } from "./viewer.mjs";

let passed = 0;
let failed = 0;
for (const [name, check] of Object.entries({
  ...contents,
  ...quickStart,
  ...bundles,
  ...runtimes,
  ...sqliteFiles,
  ...viewer,
})) {
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

/** Counts that an earlier step of .ci/run left behind. A step that had to leave some and did not has failed. */
function add(file, step, read) {
  const path = join(root, ".build", file);
  if (!existsSync(path)) {
    if (process.env.CI !== "true" || step === undefined) return;
    failed++;
    console.log(`FAIL  ${step} ended before its tests did`);
    return;
  }
  const counts = read(JSON.parse(readFileSync(path, "utf8")));
  passed += counts.passed;
  failed += counts.failed;
}
/** A file that cannot be loaded has no failed test, but the run has not succeeded. */
const ofVitest = ({ numPassedTests, numFailedTests, success }) => ({
  passed: numPassedTests,
  failed: success ? numFailedTests : Math.max(1, numFailedTests),
});
add("vitest.json", "npm test", ofVitest);
add("prove.json", "npm run prove", ofVitest);
add("storm.json", undefined, (counts) => counts);
process.exitCode = failed === 0 ? 0 : 1;
console.log(`${passed} passed, ${failed} failed`);
