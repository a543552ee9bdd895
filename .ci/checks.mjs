// The checks of the package. Leaves its counts for the closing line of .ci/run.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checks as bundles } from "./bundles.mjs";
import { checks as embedding } from "./embedding.mjs";
import { checks as observer } from "./observer.mjs";
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
  // These run servers of frameworks.
  { ...embedding },
  // These run other versions of Node.
  { ...quickStart, ...runtimes, ...sqliteFiles },
  // These drive a browser.
  { ...site, ...viewer, ...siteBrowser, ...observer },
];
/** Ends the wait for a check that hangs; its commands have limits of their own. */
const LIMIT_MS = 360_000;

function within(check) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it hangs")), LIMIT_MS);
  });
  return Promise.race([check, late]).finally(() => clearTimeout(timer));
}

let passed = 0;
const failures = [];

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
      const why = `${error.stdout ?? ""}${error.stderr ?? ""}${error.message}`;
      failures.push({ test: name, why });
      console.log(`${said("FAIL ")}\n${why}`);
    }
  }
}

async function drive(lane) {
  for (const [name, check] of Object.entries(lane)) await look(name, check);
}

await Promise.all(LANES.map(drive));
rmSync(work, { recursive: true, force: true });
mkdirSync(join(root, ".build"), { recursive: true });

writeFileSync(join(root, ".build/checks.json"), JSON.stringify({ passed, failures }));
// Also when something of a check hangs still.
process.exit(failures.length === 0 ? 0 : 1);
