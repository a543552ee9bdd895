// The pages as a reader meets them: in a folder with the package and what its programs import, everything that a page shows is saved,
// compiled with the compiler's options of the README, and the programs of the course are run.

import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { folder, install, packed, root, run, version } from "./support.mjs";

const FOLDERS = ["guide", "course", "cookbook", "coming-from"];
/** What the README tells its readers to install. */
const TOOLS = ["typescript", "@types/node"];
/** What is installed beside an entry of signalbox, and what the types of a package need that it does not bring. */
const PEERS = {
  testing: ["fast-check"],
  nodes: ["@nats-io/transport-node"],
  "@dbos-inc/dbos-sdk": ["@types/pg"],
};

/** The programs of a page: a block whose first line is `// name.ts` is that file, beside those named before it. */
function programsOf(name) {
  const page = readFileSync(join(root, "docs", name), "utf8");
  const blocks = [...page.matchAll(/^```ts( compile)?\n([\s\S]*?)^```$(?:\n\n```text\n([\s\S]*?)^```$)?/gm)];
  let place = 0;
  let names = new Set();
  return blocks.map(([, compileOnly, code, prints], i) => {
    const named = /^\/\/ ([\w.-]+\.ts)\n/.exec(code)?.[1];
    if (names.has(named)) {
      place++;
      names = new Set();
    }
    if (named !== undefined) names.add(named);
    const file = named === undefined ? `program-${i}.ts` : join(`files-${place}`, named);
    const path = join(name.replace(/\.md$/, ""), file);
    return { path, code, prints: prints?.trim() ?? "", runs: compileOnly === undefined };
  });
}

/** The packages that programs import, but signalbox and Node's own. */
function importsOf(texts) {
  const names = texts.flatMap((text) =>
    [...text.matchAll(/^(?:import|\} from)[^"\n]*"([^"\n]+)";$/gm)].map(([, name]) => name),
  );
  const bare = names
    .filter((name) => !/^(?:\.|node:|signalbox)/.test(name))
    .map((name) =>
      name
        .split("/")
        .slice(0, name[0] === "@" ? 2 : 1)
        .join("/"),
    );
  const peers = names.flatMap((name) => PEERS[name.replace("signalbox/", "")] ?? []);
  return [...new Set([...bare, ...peers])];
}

function textsBelow(path) {
  return readdirSync(path, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => readFileSync(join(path, file), "utf8"));
}

async function project(programs) {
  const cwd = folder("pages");
  writeFileSync(join(cwd, "package.json"), JSON.stringify({ type: "module", private: true }));
  for (const { path, code } of programs) {
    mkdirSync(join(cwd, dirname(path)), { recursive: true });
    // A program is a module of its own, also without an import.
    writeFileSync(join(cwd, path), `${code}\nexport {};\n`);
  }
  for (const name of ["course", "cookbook"])
    cpSync(join(root, "examples", name), join(cwd, "examples", name), { recursive: true });
  const others = importsOf([...programs.map(({ code }) => code), ...textsBelow(join(cwd, "examples"))]);
  const typed = others.map((name) => `@types/${name}`).filter((name) => version(name) !== undefined);
  const versions = [...TOOLS, ...others, ...typed].map((name) => `${name}@${version(name)}`);
  await install(cwd, "--ignore-scripts", (await packed()).path, ...versions);
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const config = JSON.parse(/```json\n(\{\s*"compilerOptions"[\s\S]*?)```/.exec(readme)[1]);
  writeFileSync(join(cwd, "tsconfig.json"), JSON.stringify({ ...config, exclude: ["node_modules"] }));
  return cwd;
}

export const checks = {
  "what the pages show compiles in a project of its own, and the course runs": async () => {
    const pages = FOLDERS.flatMap((name) =>
      readdirSync(join(root, "docs", name))
        .filter((file) => file.endsWith(".md"))
        .map((file) => join(name, file)),
    );
    const programs = pages.flatMap(programsOf);
    const cwd = await project(programs);
    await run("npx", ["tsc"], { cwd });
    for (const { path, prints, runs } of programs) {
      if (!runs || !path.startsWith("course/")) continue;
      // Reports of crashes go to standard error. An exit code is the last line.
      const command =
        'out=$(node "$1" 2>/dev/null); code=$?; echo "$out"; [ $code = 0 ] || echo "(exit code $code)"';
      const printed = (await run("sh", ["-c", command, "sh", path.replace(/\.ts$/, ".js")], { cwd })).trim();
      if (printed !== prints) throw new Error(`${path} printed\n${printed}\nand not\n${prints}`);
    }
  },
};
