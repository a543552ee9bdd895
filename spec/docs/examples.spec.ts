// Code in the documentation is code: every block is compiled, and the quick start runs.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { declared } from "../support/declared.js";
import { codeBlocks, filesOf, tsdocExamples } from "./blocks.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const work = join(root, ".build", "docs-check");

/** What the examples of TSDoc take for granted: the shop of the guide. */
const PRELUDE = readFileSync(join(root, "spec/docs/prelude.ts"), "utf8");

function compile(config: object): string {
  writeFileSync(join(work, "tsconfig.json"), JSON.stringify(config));
  try {
    execFileSync(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-p", work], {
      encoding: "utf8",
      stdio: "pipe",
    });
    return "";
  } catch (error) {
    return String((error as { stdout?: string }).stdout);
  }
}

/** How many files there are of each kind. */
const written = { pages: 0, tsdoc: 0 };
/** What the compiler says of them, and of one that is wrong on purpose. */
let said: readonly string[] = [];
const WRONG = "wrong.ts";

beforeAll(() => {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  written.pages = writePages();
  written.tsdoc = writeExamples();
  writeFileSync(join(work, WRONG), 'import { System } from "signalbox";\nnew System().spwan();\n');
  const compilerOptions = {
    rootDir: "../..",
    declaration: false,
    isolatedDeclarations: false,
    paths: declared(join(work, "types")),
  };
  const include = ["pages", "tsdoc_*.ts", WRONG];
  said = compile({ extends: "../../tsconfig.json", compilerOptions, include }).split("\n");
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

function writePages(): number {
  const pages = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  let count = 0;
  for (const page of ["README.md", ...pages.map((name) => `docs/${name}`)]) {
    const blocks = codeBlocks(readFileSync(join(root, page), "utf8"));
    for (const { path, code } of filesOf(blocks)) {
      const file = join(work, "pages", page.replaceAll(/\W/g, "_"), path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, code);
      count++;
    }
  }
  return count;
}

function writeExamples(): number {
  let count = 0;
  for (const path of readdirSync(join(root, "lib"), { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".ts")) continue;
    for (const { code, line } of tsdocExamples(readFileSync(join(root, "lib", path), "utf8"))) {
      const name = `tsdoc_${path.replaceAll(/\W/g, "_")}_line_${line}.ts`;
      writeFileSync(
        join(work, name),
        `${PRELUDE}\nexport async function example(): Promise<void> {\n${code}\n}\n`,
      );
      count++;
    }
  }
  return count;
}

const isOfWrong = (line: string): boolean => line.includes(WRONG);

describe("code in the documentation", () => {
  it("compiles: README, guide and other pages", () => {
    expect(written.pages).toBeGreaterThan(5);
    expect(said.filter((line) => !line.includes("tsdoc_") && !isOfWrong(line)).join("\n")).toBe("");
  });

  it("compiles: every @example of lib", () => {
    expect(written.tsdoc).toBeGreaterThan(10);
    expect(said.filter((line) => line.includes("tsdoc_")).join("\n")).toBe("");
  });

  it("a block that does not compile is found", () => {
    expect(said.filter(isOfWrong).join("\n")).toContain("spwan");
  });
});
