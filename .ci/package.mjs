// The package as its users get it: the files of the tarball, its types, links, source maps and declaration maps.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { folder, install, packed, root, run, version } from "./support.mjs";

/** An empty project with the package, made at the first use. */
let project;
function installed() {
  if (project === undefined) {
    project = folder("project");
    writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
    const others = ["typescript", "fast-check"].map((name) => `${name}@${version(name)}`);
    install(project, packed().path, ...others);
  }
  return project;
}

const inPackage = (path) => join(installed(), "node_modules/signalbox", path);

/** Compiles a file of the project, without types of Node, and runs it. */
function compileAndRun(name, code) {
  const options = {
    target: "ES2022",
    module: "NodeNext",
    strict: true,
    skipLibCheck: false,
    lib: ["ES2023", "ESNext.Disposable", "DOM"],
    types: [],
    rootDir: ".",
  };
  writeFileSync(join(installed(), `${name}.ts`), code);
  writeFileSync(
    join(installed(), "tsconfig.json"),
    JSON.stringify({ compilerOptions: options, files: [`${name}.ts`] }),
  );
  run("npx", ["tsc"], { cwd: project });
  return run(process.execPath, [`${name}.js`], { cwd: project });
}

/** Fails unless the text contains the parts. */
function contains(printed, ...texts) {
  for (const text of texts) if (!printed.includes(text)) throw new Error(`it printed:\n${printed}`);
}

export const checks = {
  "the package packs, and holds what belongs to it": () => {
    const { files } = packed();
    const stray = files.filter(
      (path) =>
        !/^((dist|lib|docs|examples\/(course|cookbook))\/|package\.json$|README\.md$|LICENSE$|CONTRIBUTING\.md$|CHANGELOG\.md$)/.test(
          path,
        ),
    );
    if (stray.length > 0) throw new Error(`files that do not belong: ${stray.join(", ")}`);
  },
  "publint has nothing to say": () => run("npx", ["publint", "--strict", packed().path]),
  "published types of every entry compile with skipLibCheck off": () => {
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
    run("npx", ["tsc", "-p", place]);
  },
  "types resolve, ESM only": () => run("npx", ["attw", "--profile", "esm-only", packed().path]),
  "links of the README and of docs/ lead to files of the package": () => {
    const pages = packed().files.filter((path) => path.endsWith(".md"));
    const broken = pages.flatMap((page) =>
      [...readFileSync(inPackage(page), "utf8").matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target]) => join(dirname(page), target))
        // Tests of recipes and answers are in the repository alone.
        .filter(
          (target) =>
            !existsSync(target.startsWith("spec/examples/") ? join(root, target) : inPackage(target)),
        )
        .map((target) => `${page}: ${target}`),
    );
    if (pages.length < 10 || broken.length > 0)
      throw new Error(`${pages.length} pages; ${broken.join(", ")}`);
  },
  "maps lead from declarations and bundles to sources": () => {
    const maps = readdirSync(inPackage("dist"), { recursive: true, encoding: "utf8" }).filter((path) =>
      path.endsWith(".map"),
    );
    const count = (end) => maps.filter((path) => path.endsWith(end)).length;
    if (count(".d.ts.map") < 100 || count(".js.map") < 5) throw new Error(`there are ${maps.length} maps`);
    const lost = maps.flatMap((path) => {
      const file = inPackage(join("dist", path));
      const { sources } = JSON.parse(readFileSync(file, "utf8"));
      return sources
        .filter((source) => !source.startsWith("\0") && !existsSync(join(dirname(file), source)))
        .map((source) => `${relative(root, file)}: ${source}`);
    });
    if (lost.length > 0) throw new Error(`sources that are not there: ${lost.slice(0, 5).join(", ")}`);
  },
  "go to definition ends in TypeScript": () => {
    contains(definitionOf("System"), "lib/system.ts");
  },
  "entries share one kernel": () => {
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
    writeFileSync(join(installed(), "one.mjs"), code);
    contains(run(process.execPath, ["one.mjs"], { cwd: project }), "one kernel true");
  },
  "the guide's first topology runs in an empty project": () => {
    const guide = readFileSync(join(root, "docs/guide.md"), "utf8");
    const example = /```ts\n([\s\S]*?)```/.exec(guide.slice(guide.indexOf("## Topologies")))?.[1];
    contains(compileAndRun("word-count", example), "2 is done", "3 acked, 0 failed");
  },
  "the simulator works under node:test": () => {
    writeFileSync(
      join(installed(), "race.test.mjs"),
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
    run(process.execPath, ["--test", "race.test.mjs"], { cwd: project });
  },
};

/** Where an editor goes from a name: the declaration in dist, and through its map the source. */
function definitionOf(name) {
  const entry = readFileSync(inPackage("dist/index.d.ts"), "utf8");
  const [, module] =
    new RegExp(`export \\{[^}]*\\b${name}\\b[^}]*\\} from "\\./([\\w/-]+)\\.js"`).exec(entry) ?? [];
  const map = inPackage(`dist/${module}.d.ts.map`);
  const { sources } = JSON.parse(readFileSync(map, "utf8"));
  return relative(inPackage("."), join(dirname(map), sources[0]));
}
