// Failing schedules are kept in a folder, and run first the next time.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Exploration, type ExploreOptions, explore, type Scenario } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../support/found.js";

let folder = "";
let warnings: string[] = [];
const note = (warning: Error): void => void warnings.push(warning.message);

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), "kept-")), "deep", "folder");
  warnings = [];
  process.on("warning", note);
});
afterEach(() => {
  process.off("warning", note);
  rmSync(join(folder, "..", ".."), { recursive: true, force: true });
});

/** Fails when both decisions are `bad`. */
function deciding(alternatives: number, bad: number | undefined): Scenario {
  return (sim) => {
    const [a, b] = [sim.choose(alternatives), sim.choose(alternatives)];
    if (a === bad && b === bad) throw new Error("both are bad");
  };
}

const options = (): ExploreOptions => ({ corpus: folder, name: "two decisions", schedules: 500 });

/** The tokens in the only file of the folder. */
function tokens(): string[] {
  const [file, ...others] = readdirSync(folder);
  expect(others).toEqual([]);
  const lines = readFileSync(join(folder, file as string), "utf8").split("\n");
  return lines.filter((line) => line !== "" && !line.startsWith("#"));
}

/** Warnings are emitted in a later turn. */
async function warned(result: Promise<Exploration>): Promise<Exploration> {
  const exploration = await result;
  await new Promise((done) => setImmediate(done));
  return exploration;
}

describe("a kept schedule", () => {
  test("runs first, is reported when it no longer fits, and stays when it passes [T18]", async () => {
    const found = await failureOf(deciding(4, 3), options());
    expect(found.found.schedule).toBeGreaterThan(1);
    expect(tokens()).toEqual([found.token]);

    const again = await failureOf(deciding(4, 3), options());
    expect(again.found).toMatchObject({ schedule: 1, strategy: "kept schedules", tried: 0 });
    expect(again.token).toBe(found.token);

    const mended = await warned(explore(deciding(4, undefined), options()));
    expect(mended).toMatchObject({ regressions: 1, outdated: [], schedules: 501 });
    expect(warnings).toEqual([]);

    const other = await warned(explore(deciding(5, undefined), options()));
    expect(other).toMatchObject({ regressions: 0, schedules: 500 });
    expect(other.outdated).toMatchObject([
      { token: found.token, why: expect.stringContaining("had 4 alternatives, and now there are 5") },
    ]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("a kept schedule of two decisions no longer fits");
    expect(tokens()).toEqual([found.token]);
  });

  test("of other options, or damaged, is outdated, too", async () => {
    const found = await failureOf(deciding(4, 3), options());
    const file = join(folder, readdirSync(folder)[0] as string);
    writeFileSync(file, `${readFileSync(file, "utf8")}sb1.damaged\n`);
    const { outdated } = await warned(explore(deciding(4, undefined), { ...options(), freeze: true }));
    expect(outdated.map(({ token }) => token)).toEqual([found.token, "sb1.damaged"]);
    expect(warnings[0]).toContain("2 kept schedules");
  });

  test("does not get into the way of explorations of other names", async () => {
    await failureOf(deciding(4, 3), options());
    const other = await explore(deciding(9, undefined), { ...options(), name: "two/decisions" });
    expect(other).toMatchObject({ regressions: 0, outdated: [], schedules: 500 });
    await failureOf(deciding(4, 3), { ...options(), name: "two/decisions" });
    expect(readdirSync(folder)).toHaveLength(2);
  });
});

describe("the file of kept schedules", () => {
  test("holds each schedule once, in order", async () => {
    const found = new Set<string>();
    for (const bad of [3, 1, 2, 3]) {
      await failureOf(deciding(4, bad), options());
      for (const token of tokens()) found.add(token);
    }
    expect(tokens()).toEqual([...found].sort());
    expect(found.size).toBe(3);
  });

  test("loses nothing when several processes write to it at once", async () => {
    const source = new URL("../../../lib/testing/simulator/host.ts", import.meta.url).pathname;
    const writer = `
      import { rolldown } from "rolldown";
      const bundle = await rolldown({
        input: ${JSON.stringify(source)},
        platform: "node",
        external: /^[^./]/,
        resolve: { extensionAlias: { ".js": [".ts"] } },
      });
      const { output } = await bundle.generate({ format: "esm" });
      const { host } = await import("data:text/javascript," + encodeURIComponent(output[0].code));
      const [, path, name] = process.argv;
      for (let i = 0; i < 50; i++) host.change(path, (content = "") => content + name + i + "\\n");
    `;
    const path = join(folder, "shared.txt");
    const run = (name: string): Promise<unknown> =>
      promisify(execFile)(process.execPath, ["--input-type=module", "-e", writer, path, name]);
    await Promise.all([run("a"), run("b")]);
    const lines = readFileSync(path, "utf8").trim().split("\n");
    expect(lines).toHaveLength(100);
    expect(new Set(lines).size).toBe(100);
    expect(readdirSync(folder)).toEqual(["shared.txt"]);
  });
});
