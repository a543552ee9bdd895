// `npm test -- [spec files]`: the types, the lint and the tests beside each other, once the library is built, which some tests run.
// Prints what a part said if the part fails, and what the tests say while they run.

import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
mkdirSync(".build", { recursive: true });

const program = (name) => join("node_modules/.bin", name);

/** Runs a command to its end. @param isShown - at once, and not only when it fails */
function run(command, args, isShown = false) {
  const child = spawn(command, args, {
    stdio: ["ignore", isShown ? "inherit" : "pipe", isShown ? "inherit" : "pipe"],
  });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => said.push(chunk));
  return new Promise((resolve) => {
    child.once("error", (error) => said.push(Buffer.from(`${command}: ${error.message}\n`)));
    child.once("close", (code) => {
      if (code !== 0) process.stdout.write(Buffer.concat(said));
      resolve(code === 0);
    });
  });
}

/** Parts of a lane follow each other: the compiler by itself uses all cores. */
async function lane(name, ...commands) {
  const begin = performance.now();
  let isGood = true;
  for (const [command, ...args] of commands) isGood = (await run(command, args, name === "unit")) && isGood;
  console.log(
    `${isGood ? "ok   " : "FAIL "} ${name} (${((performance.now() - begin) / 1_000).toFixed(1)} s)`,
  );
  return isGood;
}

const tsc = (project, ...flags) => [program("tsc"), "-p", project, ...flags];
// The bundles alone are enough for the tests; the declarations come with the types.
const isBuilt = await lane("build", [process.execPath, ".config/build.mjs"]);
const lanes = isBuilt
  ? await Promise.all([
      lane(
        "types",
        tsc("tsconfig.json"),
        tsc(".config/tsconfig.viewer.json"),
        // Declarations of what the first has checked; the last compiles programs of users against them.
        tsc(".config/tsconfig.build.json", "--noCheck"),
        tsc(".config/tsconfig.run.json"),
      ),
      lane("lint", ["npm", "run", "-s", "lint"]),
      lane("unit", ["npm", "run", "-s", "unit", "--", ...process.argv.slice(2)]),
    ])
  : [];
process.exit(isBuilt && lanes.every(Boolean) ? 0 : 1);
