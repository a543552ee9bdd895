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

/** Checks of a lane follow each other, and lanes run beside each other: much of each is a wait for a download or a disk. */
const LANES = [
  // These read what is built.
  { ...contents, ...bundles, ...pages },
  // These run other versions of Node.
  { ...quickStart, ...runtimes, ...sqliteFiles },
  // These drive a browser.
  { ...site, ...viewer, ...siteBrowser },
];
/** Ends the wait for a check that hangs; its commands have limits of their own. */
const LIMIT_MS = 180_000;

function within(check) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it hangs")), LIMIT_MS);
  });
  return Promise.race([check, late]).finally(() => clearTimeout(timer));
}

let passed = 0;
let failed = 0;

async function look(name, check) {
  const begin = performance.now();
  const said = (word) => `${word} ${name} (${((performance.now() - begin) / 1_000).toFixed(1)} s)`;
  try {
    await within(check());
    passed++;
    console.log(said("ok   "));
  } catch (error) {
    if (error instanceof Skipped) console.log(`skip  ${name}: ${error.message}`);
    else {
      failed++;
      console.log(`${said("FAIL ")}\n${error.stdout ?? ""}${error.stderr ?? ""}${error.message}`);
    }
  }
}

async function drive(lane) {
  for (const [name, check] of Object.entries(lane)) await look(name, check);
}

await Promise.all(LANES.map(drive));
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
