// `npm run observe`, short: its first line is the address of the observer, its hosts and processes are killed, and all sums are exact.

import { spawn } from "node:child_process";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { InputError } from "../../examples/flights/input-error.js";
import { parseOptions } from "../../examples/observe/options.js";
import { Compiled } from "../support/compiled.js";

const MAIN = "examples/observe/main.ts";
const root = fileURLToPath(new URL("../..", import.meta.url));

describe("the options", () => {
  it("have defaults", () => {
    expect(parseOptions([])).toEqual({
      port: 4000,
      rounds: undefined,
      chaos: 500,
      size: 100,
      readOnly: false,
    });
    expect(parseOptions(["--help"])).toBe("help");
  });

  it.each([
    ["--port", "70000"],
    ["--rounds", "0"],
    ["--size", "101"],
    ["--chaos", "now"],
  ])("refuse %s %s", (...args) => {
    expect(() => parseOptions(args)).toThrow(InputError);
  });
});

describe("the program", () => {
  let compiled: Compiled;
  beforeAll(async () => {
    compiled = new Compiled("observe");
    await compiled.bundle("examples/shop", "label-worker");
    await compiled.bundle("examples/observe", "main");
    // The bundle of the program has the shop in it, which looks for its worker beside itself.
    const built = join(root, compiled.folder, "built/examples");
    cpSync(join(built, "shop/label-worker.js"), join(built, "observe/label-worker.js"));
  });
  afterAll(() => compiled.remove());

  it("prints its address first, and ends with exact sums [N1597]", async () => {
    const args = ["--port", "0", "--rounds", "1", "--size", "5", "--chaos", "60"];
    const printed = (await compiled.run(MAIN, args)).split("\n");
    expect(printed[0]).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#token=\S+$/);
    expect(printed.at(-1), printed.join("\n")).toBe("exact: nothing lost, nothing done twice");
    expect(printed.join("\n")).toMatch(/flights +100 counted once/);
  });

  it("ends at Ctrl-C, and finishes what is under way [N1597]", async () => {
    const child = spawn(process.execPath, [...compiled.argsFor(MAIN), "--port", "0", "--size", "2"], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (lines.length === 2) child.kill("SIGINT");
    }
    expect(lines.at(-1), lines.join("\n")).toBe("exact: nothing lost, nothing done twice");
  });
});
