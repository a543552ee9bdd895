// The package as its users get it: packed, linted, type-resolved, installed into an empty project, and the README's
// quick start run there. Ends with the counts of these checks, of the test run before them, and of Storm's.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const root = fileURLToPath(new URL("..", import.meta.url));
const work = mkdtempSync(join(tmpdir(), "signalbox-package-"));
/** What users bundle, and how many bytes it may be (docs/decisions/0009). */
const BUNDLES = {
  processes: { imports: "*", from: "chunks/process.js", limit: 20_000 },
  "a system with servers and supervisors": {
    imports: "{ System, defineServer, supervisor }",
    from: "index.js",
    limit: 27_000,
  },
  everything: { imports: "*", from: "index.js", limit: 42_000 },
  topologies: { imports: "*", from: "topology/index.js", limit: 74_000 },
};

function run(command, args, cwd = root) {
  return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

let tarball = "";
const project = join(work, "project");

const checks = {
  "the package packs": () => {
    const [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", work]));
    tarball = join(work, packed.filename);
    const stray = packed.files
      .map((file) => file.path)
      .filter(
        (path) => !/^((dist|lib|docs)\/|package\.json$|README\.md$|LICENSE$|CHANGELOG\.md$)/.test(path),
      );
    if (stray.length > 0) throw new Error(`files that do not belong: ${stray.join(", ")}`);
  },
  "publint has nothing to say": () => run("npx", ["publint", "--strict", tarball]),
  "types resolve, ESM only": () => run("npx", ["attw", "--profile", "esm-only", tarball]),
  "the README's quick start runs in an empty project": () => {
    mkdirSync(project);
    const typescript = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies
      .typescript;
    writeFileSync(
      join(project, "package.json"),
      JSON.stringify({ name: "quick-start", private: true, type: "module" }),
    );
    run("npm", ["install", "--no-audit", "--no-fund", tarball, `typescript@${typescript}`], project);
    const start = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, "README.md"), "utf8"))?.[1];
    writeFileSync(join(project, "quick-start.ts"), start);
    const options = {
      target: "ES2022",
      module: "NodeNext",
      strict: true,
      skipLibCheck: false,
      lib: ["ES2023", "ESNext.Disposable", "DOM"],
      types: [],
      rootDir: ".",
    };
    writeFileSync(
      join(project, "tsconfig.json"),
      JSON.stringify({ compilerOptions: options, files: ["quick-start.ts"] }),
    );
    run("npx", ["tsc"], project);
    const printed = run(process.execPath, ["quick-start.js"], project);
    const lines = printed.trim().split("\n");
    if (lines.length !== 5 || !lines[4].startsWith("5 picked by") || !printed.includes("85 left"))
      throw new Error(`it printed:\n${printed}`);
  },
  "the guide's first topology runs in an empty project": () => {
    const guide = readFileSync(join(root, "docs/guide.md"), "utf8");
    const example = /```ts\n([\s\S]*?)```/.exec(guide.slice(guide.indexOf("## Topologies")))?.[1];
    writeFileSync(join(project, "word-count.ts"), example);
    const config = JSON.parse(readFileSync(join(project, "tsconfig.json"), "utf8"));
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ ...config, files: ["word-count.ts"] }));
    run("npx", ["tsc"], project);
    const printed = run(process.execPath, ["word-count.js"], project);
    if (!printed.includes("2 is done") || !printed.includes("3 acked, 0 failed"))
      throw new Error(`it printed:\n${printed}`);
  },
  "the simulator works under node:test": () => {
    const fastCheck = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies[
      "fast-check"
    ];
    run("npm", ["install", "--no-audit", "--no-fund", `fast-check@${fastCheck}`], project);
    writeFileSync(
      join(project, "race.test.mjs"),
      `import { strict as assert } from "node:assert";
import { test } from "node:test";
import { explore, probe, testClock } from "signalbox/testing";
import { System } from "signalbox";
const first = async (sim) => {
  const system = sim.system();
  const seen = [];
  const sink = system.spawn({ handle: (_ctx, from) => void seen.push(from) });
  for (const name of ["a", "b"]) system.spawn((ctx) => ctx.send(sink, name));
  await sim.quiet();
  assert.equal(seen[0], "a");
};
test("a race is found, and its token replays it", async () => {
  const error = await explore(first).catch((reason) => reason);
  assert.equal(error.code, "ERR_SIM_SCHEDULE");
  const again = await explore(first, { replay: error.token }).catch((reason) => reason);
  assert.equal(again.token, error.token);
});
test("a probe expects, on a clock", async () => {
  const clock = testClock();
  const system = new System({ environment: clock.environment });
  const me = probe(system);
  system.sendAfter(me.pid, "late", 60_000);
  assert.equal(await me.expect("late", { timeout: 60_000 }), "late");
  await clock.until(system.stop());
});
`,
    );
    run(process.execPath, ["--test", "race.test.mjs"], project);
  },
  "what a bundle pays for stays within its limits, minified and gzipped": async () => {
    const { rolldown } = await import("rolldown");
    const over = [];
    for (const [what, { imports, from, limit }] of Object.entries(BUNDLES)) {
      const entry = join(work, "entry.js");
      writeFileSync(entry, `export ${imports} from ${JSON.stringify(join(root, "dist", from))};`);
      const bundle = await rolldown({
        input: entry,
        platform: "node",
        external: ["eventemitter3", "nanoid"],
        logLevel: "silent",
      });
      const { output } = await bundle.generate({ format: "esm", minify: true });
      const size = gzipSync(output[0].code, { level: 9 }).length;
      console.log(`      ${what}: ${size} of ${limit} bytes`);
      if (size > limit) over.push(what);
    }
    if (over.length > 0) throw new Error(`too large: ${over.join("; ")}`);
  },
};

let passed = 0;
let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    passed++;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${error.stdout ?? ""}${error.stderr ?? ""}${error.message}`);
  }
}
rmSync(work, { recursive: true, force: true });

const report = join(root, ".build/vitest.json");
if (existsSync(report)) {
  const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, "utf8"));
  passed += numPassedTests;
  failed += numFailedTests;
}
const storm = join(root, ".build/storm.json");
if (existsSync(storm)) {
  const counts = JSON.parse(readFileSync(storm, "utf8"));
  passed += counts.passed;
  failed += counts.failed;
}
process.exitCode = failed === 0 ? 0 : 1;
console.log(`${passed} passed, ${failed} failed`);
