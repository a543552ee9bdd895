// The checks of the package. Ends with the counts of these checks, of the test runs before them, and of Storm's.
// Arguments: what went wrong with the parts of .ci/run before it.

import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { checks as bundles } from "./bundles.mjs";
import { checks as contents } from "./package.mjs";
import { checks as pages } from "./pages.mjs";
import { checks as quickStart } from "./quick-start.mjs";
import { checks as runtimes } from "./runtimes.mjs";
import { checks as site } from "./site.mjs";
import { checks as siteBrowser } from "./site-browser.mjs";
import { checks as sqliteFiles } from "./sqlite-files.mjs";
import { root, Skipped, work } from "./support.mjs";
import { checks as viewer } from "./viewer.mjs";

/** Ends the wait for a check that hangs; its commands have limits of their own. */
function within(check) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it hangs")), 180_000);
  });
  return Promise.race([check, late]).finally(() => clearTimeout(timer));
}

let passed = 0;
let failed = 0;
for (const [name, check] of Object.entries({
  ...contents,
  ...quickStart,
  ...pages,
  ...bundles,
  ...runtimes,
  ...sqliteFiles,
  ...viewer,
  ...site,
  ...siteBrowser,
})) {
  try {
    await within(check());
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

/** Lines of a failure that are told again at the end, where whoever sees the last lines alone finds them. */
const LINES = 12;
/** Counts that an earlier part of .ci/run left behind. */
function add(file, read) {
  const path = join(root, ".build", file);
  if (!existsSync(path)) return;
  const counts = read(JSON.parse(readFileSync(path, "utf8")));
  passed += counts.passed;
  failed += counts.failed;
}
function ofVitest(tally) {
  for (const { test, why } of tally.failures) {
    console.log(`FAIL  ${test}\n${why.split("\n").slice(0, LINES).join("\n")}`);
  }
  return { passed: tally.passed, failed: tally.failures.length };
}
add("vitest.json", ofVitest);
add("prove.json", ofVitest);
add("storm.json", (counts) => counts);
const problems = process.argv.slice(2);
for (const problem of problems) console.log(`FAIL  ${problem}`);
// A part fails for its failed tests, or has left no count: then it counts as one failure.
failed = Math.max(failed, problems.length);
console.log(`time  the checks of the package: ${Math.round(performance.now() / 1_000)} s`);
console.log(`${passed} passed, ${failed} failed`);
// Also when something of a check hangs still.
process.exit(failed === 0 ? 0 : 1);
