// The chapters of the guide do what they say: every block is compiled and run by itself, and prints what stands below it.
//
// A block fenced as `ts` is a program. One whose first line is `// name.ts` can be imported by the blocks after it. A block
// fenced as `text` directly below a program is what the program prints; its last line may be `(exit code 3)`.

import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { filesOf, type Program, programs } from "./blocks.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const work = join(root, ".build", "chapters");
const source = join(work, "source");
const built = join(work, "built");

interface Page {
  readonly name: string;
  readonly programs: readonly Program[];
}

function pageOf(name: string, markdown: string): Page {
  return { name: name.replace(/\.md$/, "").replaceAll(/\W/g, "_"), programs: programs(markdown) };
}

/** A page that lies, for the tests of these tests. */
const LIAR = pageOf(
  "liar.md",
  '```ts\nconsole.log("a");\n```\n\n```text\nb\n```\n\n```ts\nprocess.exitCode = 3;\n```\n\n```text\n(exit code 3)\n```\n',
);
const folder = join(root, "docs/guide");
const chapters = readdirSync(folder)
  .filter((name) => name.endsWith(".md"))
  .map((name) => pageOf(name, readFileSync(join(folder, name), "utf8")));

const config = {
  extends: "../../tsconfig.json",
  compilerOptions: {
    noEmit: false,
    rootDir: "../..",
    outDir: "built",
    declaration: false,
    isolatedDeclarations: false,
    paths: { signalbox: ["../../lib/index.ts"], "signalbox/*": ["../../lib/*/index.ts"] },
  },
  include: ["source"],
};

/** Programs import signalbox by name; here that is the library as compiled along with them. */
const RESOLVER = `
  export const resolve = (name, context, next) => {
    const entry = /^signalbox(?:\\/(\\w+))?$/.exec(name);
    if (entry === null) return next(name, context);
    return { url: ${JSON.stringify(pathToFileURL(join(built, "lib/")).href)} + (entry[1] ? entry[1] + "/" : "") + "index.js", shortCircuit: true };
  };`;
const REGISTER = `import { register } from "node:module"; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(RESOLVER)}`)});`;

/** What a program prints, on both streams, and its exit code if that is not 0. */
function run(path: string): Promise<string> {
  const file = join(built, ".build/chapters/source", path.replace(/ts$/, "js"));
  const given = ["--import", `data:text/javascript,${encodeURIComponent(REGISTER)}`, file];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, given, (error, out, err) => {
      const ended = error === null ? "" : `(exit code ${error.code ?? error.signal})`;
      resolve(`${out}${err}${ended}`.trim());
    });
    child.stdin?.end();
  });
}

beforeAll(() => {
  rmSync(work, { recursive: true, force: true });
  for (const { name, programs } of [...chapters, LIAR]) {
    for (const { path, code } of filesOf(programs)) {
      const file = join(source, name, path);
      mkdirSync(dirname(file), { recursive: true });
      // A program is a module of its own, also without an import.
      writeFileSync(file, `${code}\nexport {};\n`);
    }
  }
  writeFileSync(join(work, "tsconfig.json"), JSON.stringify(config));
  try {
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", work], {
      stdio: "pipe",
    });
  } catch (error) {
    throw new Error(String((error as { stdout?: unknown }).stdout));
  }
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

const cases = ({ name, programs }: Page) =>
  filesOf(programs).map(({ path }, i) => ({ path: `${name}/${path}`, prints: programs[i]?.prints }));

describe("the chapters of the guide", () => {
  it.each(chapters.flatMap(cases))("$path runs and prints what the page says", async ({ path, prints }) => {
    expect(await run(path)).toBe(prints ?? "");
  });

  it("notices a program that prints something else, or that fails", async () => {
    const [first, second] = await Promise.all(cases(LIAR).map(({ path }) => run(path)));
    expect(LIAR.programs.map(({ prints }) => prints)).toEqual(["b", "(exit code 3)"]);
    expect(first).toBe("a");
    expect(second).toBe("(exit code 3)");
  });
});
