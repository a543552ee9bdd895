// The program `signalbox` as the shell runs it: what it prints arrives, or its exit code says that it did not.

import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
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
  await bundle.write({ file: join(folder, "main.mjs"), format: "esm", codeSplitting: false });
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
