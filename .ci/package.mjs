// The package as its users get it: the files of the tarball, its types, links, source maps and declaration maps.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { once, packed, project, root, run, version } from "./support.mjs";

const installed = once(() =>
  project("project", ...["typescript", "fast-check"].map((name) => `${name}@${version(name)}`)),
);

/** A file of the package, as it is installed. */
const inPackage = (cwd, path) => join(cwd, "node_modules/signalbox", path);

/** Compiles a file of the project, without types of Node, and runs it. */
async function compileAndRun(name, code) {
  const cwd = await installed();
  const options = {
    target: "ES2022",
    module: "NodeNext",
    strict: true,
    skipLibCheck: false,
    lib: ["ES2023", "ESNext.Disposable", "DOM"],
    types: [],
    rootDir: ".",
  };
  writeFileSync(join(cwd, `${name}.ts`), code);
  writeFileSync(
    join(cwd, "tsconfig.json"),
    JSON.stringify({ compilerOptions: options, files: [`${name}.ts`] }),
  );
  await run("npx", ["tsc"], { cwd });
  return run(process.execPath, [`${name}.js`], { cwd });
}

/** Fails unless the text contains the parts. */
function contains(printed, ...texts) {
  for (const text of texts) if (!printed.includes(text)) throw new Error(`it printed:\n${printed}`);
}

export const checks = {
  "the package packs, and holds what belongs to it": async () => {
    const { files } = await packed();
    const stray = files.filter(
      (path) =>
        !/^((dist|lib|docs|examples\/(course|cookbook))\/|package\.json$|README\.md$|LICENSE$|CONTRIBUTING\.md$|CHANGELOG\.md$)/.test(
          path,
        ),
    );
    if (stray.length > 0) throw new Error(`files that do not belong: ${stray.join(", ")}`);
  },
  "the command tells its version, and fails when its output is lost": async () => {
    const cwd = await installed();
    const command = inPackage(cwd, "dist/cli/main.js");
    const printed = await run(process.execPath, [command, "--version"], { cwd });
    const { version: own } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    if (printed.trim() !== own) throw new Error(`it printed ${printed}`);
    if (!existsSync("/dev/full")) return;
    const code =
      "code=0; node $0 flows --help > /dev/full || code=$?; node $0 flows --help | head -1; echo $code $?";
    const lost = await run("bash", ["-c", code, command], { cwd });
    if (!lost.trim().endsWith("2 0")) throw new Error(`it ended with ${lost}`);
  },
  "publint has nothing to say": async () => run("npx", ["publint", "--strict", (await packed()).path]),
  "published types of every entry compile with skipLibCheck off": async () => {
    const place = join(root, ".build/published-types");
    mkdirSync(place, { recursive: true });
    const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const entries = Object.keys(exports).filter((path) => !path.endsWith(".json"));
    const lines = entries.map((path, i) => `export * as e${i} from "signalbox${path.slice(1)}";`);
    writeFileSync(join(place, "all.ts"), lines.join("\n"));
    const compilerOptions = {
      target: "ES2022",
      lib: ["ES2023", "ESNext.Disposable"],
      module: "NodeNext",
      types: ["node"],
      strict: true,
      noEmit: true,
      skipLibCheck: false,
    };
    writeFileSync(join(place, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["all.ts"] }));
    await run("npx", ["tsc", "-p", place]);
  },
  "types resolve, ESM only": async () => run("npx", ["attw", "--profile", "esm-only", (await packed()).path]),
  "links of the README and of docs/ lead to files of the package": async () => {
    const cwd = await installed();
    const pages = (await packed()).files.filter((path) => path.endsWith(".md"));
    const broken = pages.flatMap((page) =>
      [...readFileSync(inPackage(cwd, page), "utf8").matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target]) => join(dirname(page), target))
        // Tests of recipes and answers are in the repository alone.
        .filter(
          (target) =>
            !existsSync(target.startsWith("spec/examples/") ? join(root, target) : inPackage(cwd, target)),
        )
        .map((target) => `${page}: ${target}`),
    );
    if (pages.length < 10 || broken.length > 0)
      throw new Error(`${pages.length} pages; ${broken.join(", ")}`);
  },
  "maps lead from declarations and bundles to sources": async () => {
    const cwd = await installed();
    const maps = readdirSync(inPackage(cwd, "dist"), { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".map"),
    );
    const count = (end) => maps.filter((path) => path.endsWith(end)).length;
    if (count(".d.ts.map") < 100 || count(".js.map") < 5) throw new Error(`there are ${maps.length} maps`);
    const lost = maps.flatMap((path) => {
      const file = inPackage(cwd, join("dist", path));
      const { sources } = JSON.parse(readFileSync(file, "utf8"));
      return sources
        .filter((source) => !source.startsWith("\0") && !existsSync(join(dirname(file), source)))
        .map((source) => `${relative(root, file)}: ${source}`);
    });
    if (lost.length > 0) throw new Error(`sources that are not there: ${lost.slice(0, 5).join(", ")}`);
  },
  "go to definition ends in TypeScript": async () => {
    contains(definitionOf(await installed(), "System"), "lib/system.ts");
  },
  "entries share one kernel": async () => {
    const cwd = await installed();
    const code = `import { SignalboxError, System } from "signalbox";
import { field, spoutFrom, topology, TopologyError } from "signalbox/topology";
import { testClock } from "signalbox/testing";
const clock = testClock();
const system = new System({ environment: clock.environment });
const numbers = topology("numbers").spout("n", spoutFrom([{ n: 1 }], { fields: { n: field.number } })).build();
const running = await system.start(numbers);
await clock.until(running.finished());
await clock.until(system.stop());
console.log("one kernel", TopologyError.prototype instanceof SignalboxError);
`;
    writeFileSync(join(cwd, "one.mjs"), code);
    contains(await run(process.execPath, ["one.mjs"], { cwd }), "one kernel true");
  },
  "the guide's first topology runs in an empty project": async () => {
    const guide = readFileSync(join(root, "docs/guide.md"), "utf8");
    const example = /```ts\n([\s\S]*?)```/.exec(guide.slice(guide.indexOf("## Topologies")))?.[1];
    contains(await compileAndRun("word-count", example), "2 is done", "3 acked, 0 failed");
  },
  "the simulator works under node:test": async () => {
    const cwd = await installed();
    writeFileSync(
      join(cwd, "race.test.mjs"),
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
  assert.equal(await me.expect("late", { timeoutMs: 60_000 }), "late");
  await clock.until(system.stop());
});
`,
    );
    await run(process.execPath, ["--test", "race.test.mjs"], { cwd });
  },
};

/** Where an editor goes from a name: the declaration in dist, and through its map the source. */
function definitionOf(cwd, name) {
  const entry = readFileSync(inPackage(cwd, "dist/index.d.ts"), "utf8");
  const [, module] =
    new RegExp(`export \\{[^}]*\\b${name}\\b[^}]*\\} from "\\./([\\w/-]+)\\.js"`).exec(entry) ?? [];
  const map = inPackage(cwd, `dist/${module}.d.ts.map`);
  const { sources } = JSON.parse(readFileSync(map, "utf8"));
  return relative(inPackage(cwd, "."), join(dirname(map), sources[0]));
}
