// Types, lint, and the tests that are closest to a change: `npm run check -- [--since REVISION] [--seconds N]`.
//
// A change is what differs from the last commit, or the last commit itself when nothing differs. All modules are compiled, but only
// what the change reaches is compiled again; changed files alone are linted. Specs run the closest first (see related.mjs), and so many of
// them as fit into the seconds by the times of their last runs: those that are left out are counted, and `npm test` runs them.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { related } from "./related.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);
const { values } = parseArgs({
  options: { since: { type: "string" }, seconds: { type: "string", default: "10" } },
});
const seconds = Number(values.seconds);
if (!(seconds > 0)) {
  console.error(`--seconds is ${values.seconds}; it has to be a number above 0`);
  process.exit(1);
}

const git = (...args) => execFileSync("git", args, { encoding: "utf8" }).split("\n").filter(Boolean);

function changes() {
  if (values.since !== undefined) return [...git("diff", "--name-only", values.since), ...untracked()];
  const now = [...git("diff", "--name-only", "HEAD"), ...untracked()];
  return now.length > 0 ? now : git("diff", "--name-only", "HEAD^", "HEAD");
}
const untracked = () => git("ls-files", "--others", "--exclude-standard");

const changed = [...new Set(changes())];
const present = changed.filter((path) => existsSync(path));
const isModule = (path) => /^(lib|spec|examples)\/.*\.ts$/.test(path);

/** Specs that read files rather than import them, and which files those are. */
const READERS = [
  [
    /^(lib|spec)\/.*\.ts$/,
    ["spec/house/floors.spec.ts", "spec/house/reach.spec.ts", "spec/house/options.spec.ts"],
  ],
  [/^lib\/.*\/?(index|options)\.ts$|^lib\/index\.ts$/, ["spec/entrances/entrances.spec.ts"]],
  [/errors\.ts$/, ["spec/docs/errors.spec.ts", "spec/house/error-codes.spec.ts"]],
  [/\.md$/, ["spec/docs/reading.spec.ts", "spec/docs/spelling.spec.ts", "spec/docs/links.spec.ts"]],
  [/^docs\/semantics\.md$|\.spec\.ts$/, ["spec/docs/semantics.spec.ts"]],
  [/^\.config\/biome\.json$/, ["spec/house/lint.spec.ts"]],
];

function sources() {
  const paths = ["lib", "spec", "examples"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map(
      (name) => `${folder}/${name.replaceAll("\\", "/")}`,
    ),
  );
  return new Map(
    paths.filter((path) => path.endsWith(".ts")).map((path) => [path, readFileSync(path, "utf8")]),
  );
}

/** How long a spec took when it ran last, by the records of the test runner. */
function durations() {
  const place = "node_modules/.vite/vitest";
  const found = new Map();
  for (const folder of existsSync(place) ? readdirSync(place) : []) {
    const file = join(place, folder, "results.json");
    if (!existsSync(file)) continue;
    for (const [key, { duration }] of JSON.parse(readFileSync(file, "utf8")).results) {
      const [project, path] = key.split(/:(.*)/s);
      if (project !== "proofs") found.set(path, duration);
    }
  }
  return found;
}

/** For a spec that never ran here: most take less. */
const UNKNOWN_MS = 1_000;
/** What a spec costs before its first test. */
const LOADING_MS = 150;

function chosen() {
  const close = related(sources(), changed.filter(isModule));
  const reading = READERS.flatMap(([pattern, specs]) =>
    changed.some((path) => pattern.test(path)) ? specs : [],
  );
  for (const spec of reading) if (existsSync(spec)) close.set(spec, Math.min(1, close.get(spec) ?? 1));
  const took = durations();
  const cost = (spec) => LOADING_MS + (took.get(spec) ?? UNKNOWN_MS);
  const order = [...close].sort(([a, near], [b, far]) => near - far || cost(a) - cost(b));
  let left = seconds * 1_000 * availableParallelism();
  const taken = order.filter(([spec, distance]) => {
    left -= cost(spec);
    // What mirrors a changed file runs, however long it takes.
    return distance === 0 || left >= 0;
  });
  return { specs: taken.map(([spec]) => spec), left: order.length - taken.length };
}

/** Runs a command to its end, and prints what it said if it failed. */
function run(name, command, args) {
  const begin = performance.now();
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, FORCE_COLOR: "1" },
  });
  const said = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => said.push(chunk));
  return new Promise((resolve) => {
    child.once("close", (code) => {
      const isGood = code === 0;
      console.log(
        `${isGood ? "ok   " : "FAIL "} ${name} (${((performance.now() - begin) / 1_000).toFixed(1)} s)`,
      );
      if (!isGood) process.stdout.write(Buffer.concat(said));
      resolve(isGood);
    });
  });
}

const program = (name) => join("node_modules/.bin", name);
mkdirSync(".build", { recursive: true });

function parts() {
  const { specs, left } = chosen();
  const vitest = ["run", "--config", ".config/vitest.config.ts", ...specs];
  const built = ["--incremental", "--tsBuildInfoFile", ".build/check.tsbuildinfo"];
  const linted = present.filter((path) =>
    /^(lib|spec|examples|\.ci)\/.*\.(ts|mjs|json)$|^(package|tsconfig)\.json$/.test(path),
  );
  const lint = ["ci", "--config-path=.config", "--error-on-warnings", "--no-errors-on-unmatched", ...linted];
  const more = left === 0 ? "" : `; ${left} that reach the change over more imports are left to npm test`;
  return [
    run("types", program("tsc"), ["-p", "tsconfig.json", ...built]),
    ...(present.some((path) => path.startsWith("lib/testing/viewer/client/"))
      ? [run("types of the viewer", program("tsc"), ["-p", ".config/tsconfig.viewer.json"])]
      : []),
    ...(linted.length > 0 ? [run(`lint of ${linted.length} files`, program("biome"), lint)] : []),
    ...(specs.length > 0 ? [run(`tests of ${specs.length} files${more}`, program("vitest"), vitest)] : []),
  ];
}

console.log(`${changed.length} changed files`);
const good = changed.length === 0 ? [] : await Promise.all(parts());
process.exit(good.every(Boolean) ? 0 : 1);
