// Code in the documentation is code: every block is compiled, and the quick start runs.

import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
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

const options = {
  extends: "../../tsconfig.json",
  compilerOptions: {
    rootDir: "../..",
    declaration: false,
    isolatedDeclarations: false,
    paths: { signalbox: ["../../lib/index.ts"], "signalbox/*": ["../../lib/*/index.ts"] },
  },
};

beforeAll(() => {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
});
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe("code in the documentation", () => {
  it("compiles: README, guide and other pages", () => {
    const pages = [
      "README.md",
      ...readdirSync(join(root, "docs"))
        .filter((name) => name.endsWith(".md"))
        .map((name) => `docs/${name}`),
    ];
    let count = 0;
    for (const page of pages) {
      const blocks = codeBlocks(readFileSync(join(root, page), "utf8"));
      for (const { path, code } of filesOf(blocks)) {
        const file = join(work, "pages", page.replaceAll(/\W/g, "_"), path);
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, code);
        count++;
      }
    }
    expect(count).toBeGreaterThan(5);
    expect(compile({ ...options, include: ["pages"] })).toBe("");
  });

  it("compiles: every @example of lib", () => {
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
    expect(count).toBeGreaterThan(10);
    expect(compile({ ...options, include: ["tsdoc_*.ts"] })).toBe("");
  });

  it("a block that does not compile is found", () => {
    writeFileSync(join(work, "wrong.ts"), 'import { System } from "signalbox";\nnew System().spwan();\n');
    expect(compile({ ...options, include: ["wrong.ts"] })).toContain("spwan");
  });
});
