// The program `signalbox` as the shell runs it: what it prints arrives, or its exit code says that it did not.

import { spawnSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FLOW_SCHEMA } from "../../lib/flow/journal/tables.js";
import { sqlite } from "../../lib/store/index.js";
import { storeContext } from "../support/store-context.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
/** A device on which every write fails. */
const FULL = "/dev/full";

let folder: string;
let store: string;
beforeAll(async () => {
  mkdirSync(join(root, ".build"), { recursive: true });
  folder = mkdtempSync(join(root, ".build", "command-"));
  store = join(folder, "flows.db");
  await (await sqlite(store).open([FLOW_SCHEMA], storeContext())).close();
  const bundle = await rolldown({
    input: join(root, "lib/cli/main.ts"),
    platform: "node",
    external: /^[^./]/,
    logLevel: "silent",
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
  });
  // In parts, as it is published: a command loads what it needs.
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "[name].mjs" });
  await bundle.close();
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(args: readonly string[], to: "pipe" | number = "pipe") {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, "main.mjs"), ...args], {
    stdio: ["ignore", to, "pipe"],
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", NO_COLOR: "1", FORCE_COLOR: "0" },
  });
  return { status, stdout, stderr };
}

describe("the program", () => {
  test.each(["--version", "-v", "flows --version", "pipelines -v", "replay --version"])(
    "shows its version after %s [E15]",
    (words) => {
      expect(run(words.split(" "))).toEqual({ status: 0, stdout: `${version}\n`, stderr: "" });
    },
  );

  test.runIf(existsSync(FULL))("ends with 2 when its output is lost, whatever it was asked for [E15]", () => {
    const commands = [
      ["--version"],
      ["--help"],
      ["flows", "--help"],
      ["pipelines", "--help"],
      ["replay", "--help"],
    ];
    for (const args of [
      ...commands,
      ["flows", "list", "--store", store],
      ["flows", "list", "--store", store, "--json"],
    ]) {
      const right = run(args);
      expect({ args, ...right }).toMatchObject({ args, status: 0, stderr: "" });
      const full = openSync(FULL, "w");
      const { status, stderr } = run(args, full);
      closeSync(full);
      expect({ args, status }).toEqual({ args, status: 2 });
      expect(stderr).toContain("signalbox: the output could not be written");
    }
  });

  test("takes a reader that has seen enough for no failure [E15]", () => {
    const script = 'set -o pipefail; "$0" "$1" --help | true';
    const { status, stderr } = spawnSync("bash", ["-c", script, process.execPath, join(folder, "main.mjs")], {
      encoding: "utf8",
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});

describe("a module that a command loads", () => {
  // Not in this package: there, signalbox would be its build.
  const outside = mkdtempSync(join(tmpdir(), "command-"));
  afterAll(() => rmSync(outside, { recursive: true }));
  const load = (name: string, text: string) => {
    const module = join(outside, name);
    writeFileSync(module, text);
    return {
      flows: run(["flows", "list", "--store", store, "--code", module]),
      storm: run(["storm", "check", module]),
    };
  };
  beforeAll(() => {
    const own = join(outside, "node_modules/signalbox");
    mkdirSync(own, { recursive: true });
    writeFileSync(
      join(own, "package.json"),
      '{"name": "signalbox", "exports": {"./topology": "./topology.mjs"}}',
    );
    writeFileSync(join(own, "topology.mjs"), "export const runComponent = () => undefined;");
  });

  test.each([0, 1, 7])(
    "that ends the program with %i gives the exit code 2 and a complaint [E15]",
    (code) => {
      for (const { status, stdout, stderr } of Object.values(load("ends.mjs", `process.exit(${code});`)))
        expect({ status, stdout, stderr }).toEqual({
          status: 2,
          stdout: "",
          stderr: `signalbox: cannot load ${join(outside, "ends.mjs")}: it ended the program, with code ${code}\n`,
        });
    },
  );

  test("that waits for what never comes gives the exit code 2 and a complaint [E15]", () => {
    for (const { status, stderr } of Object.values(
      load("waits.mjs", "await new Promise(() => undefined);"),
    )) {
      expect(status).toBe(2);
      expect(stderr).toContain(
        `cannot load ${join(outside, "waits.mjs")}: it awaits something that never comes\n`,
      );
    }
  });
});
