// The recipes of the testing guide run: each of their modules, and the ones for a test runner under that runner. In `npm test` the
// modules explore fewer schedules than they say, and Vitest within Vitest is left to `npm run prove`: it takes seconds to begin.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { proving } from "../support/proof.js";
import { codeBlocks, filesOf } from "./blocks.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const work = join(root, ".build", "testing-recipes");
const page = readFileSync(join(root, "docs/testing.md"), "utf8");
const recipes = page.slice(page.indexOf("\n## Recipes\n"), page.indexOf("\n## Planted bugs\n"));
const files = filesOf(codeBlocks(recipes)).map(({ path, code }) => ({
  name: path.replace(/^.*\//, ""),
  code,
}));
const modules = files.filter(({ name }) => name.endsWith(".test.ts"));

/** What the modules import as `signalbox/testing` in `npm test`. A search through all schedules stays whole. */
const SPARING = `export * from "signalbox/testing";
import { explore as exploreAll } from "signalbox/testing";
export const explore = (scenario, options = {}) =>
  exploreAll(scenario, options.strategy ? options : { ...options, schedules: 100 });
`;
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
writeFileSync(join(work, "sparing.ts"), SPARING);
for (const { name, code } of files) {
  const isSparing = !proving && name.endsWith(".test.ts");
  writeFileSync(
    join(work, name),
    isSparing ? code.replace(/from "signalbox\/testing"/, 'from "./sparing.js"') : code,
  );
}
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe("the recipes of the testing guide", () => {
  test("are there", () => {
    expect(modules.map(({ name }) => name)).toEqual([
      "http.test.ts",
      "sql.test.ts",
      "kv.test.ts",
      "timers.test.ts",
      "disk.test.ts",
      "register.test.ts",
      "regression.test.ts",
    ]);
  });

  test.each(modules)("run: $name", async ({ name }) => {
    await import(join(work, name));
  });

  /** Runs a program of Node in the folder of the recipes, and gives what it printed. Fails if the program does. */
  function printed(...args: string[]): string {
    // Settings of this runner are not for the one within.
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_|CI$|TEST$)/.test(name)),
    );
    return execFileSync(process.execPath, args, { cwd: work, env, encoding: "utf8", stdio: "pipe" });
  }

  // Its tests become tests of this file.
  describe("run in this Vitest", async () => void (await import(join(work, "shop.spec.ts"))));

  test.runIf(proving)("run in Vitest", () => {
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const report = printed(vitest, "run", "--root", work, "--reporter=json", "shop.spec.ts");
    expect(JSON.parse(report.slice(report.indexOf("{")))).toMatchObject({ success: true, numPassedTests: 1 });
  });

  test("run in node:test", () => {
    // The block has no types to strip.
    writeFileSync(join(work, "shop.node-test.mjs"), textOf("shop.node-test.ts"));
    expect(printed("--test", "--test-reporter=tap", "shop.node-test.mjs")).toContain("# pass 1");
  });

  const jest = join(root, "node_modules/jest/bin/jest.js");

  test.skipIf(!existsSync(jest))("run in Jest, where it is installed", () => {
    const code = /```js\n(\/\/ shop\.test\.js\n[\s\S]*?)```/.exec(recipes)?.[1] as string;
    writeFileSync(join(work, "package.json"), '{ "type": "module", "jest": { "transform": {} } }');
    writeFileSync(join(work, "shop.test.js"), code);
    const report = printed("--experimental-vm-modules", jest, "--json", "--rootDir", work, "shop.test.js");
    expect(JSON.parse(report)).toMatchObject({ success: true, numPassedTests: 1 });
  });
});

function textOf(name: string): string {
  return files.find((file) => file.name === name)?.code as string;
}
