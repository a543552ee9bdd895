// The program of a component, run by real Nodes: what it says when the Node is too old, and that nothing else has run by then.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { NODE_VERSION, nodeVersion, wrapperOf } from "../../../lib/cli/storm/wrapper.js";
import { execute, folderWith } from "./support.js";

/** Runs the program beside a module. Resolves with what it printed, and its exit code. */
async function run(wrapper: string, topology: string): Promise<{ code: number; out: string; err: string }> {
  const at = folderWith({ "component.mjs": wrapper, "topology.mjs": topology });
  const done = execute(process.execPath, [at("component.mjs")], { cwd: at() });
  return done.then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr }),
  );
}
const PRINTS = 'console.log("loaded"); export const run = (name) => console.log("run", name);';
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

test("the oldest Node is that of the package", () => {
  const { engines } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  expect(engines.node).toBe(`>=${NODE_VERSION}`);
});

describe("a component", () => {
  test.each([undefined, `${major}`, `${major}.${minor}`, process.versions.node, `${major - 1}.99`])(
    "runs the topology on a Node that is new enough: %s",
    async (wanted) => {
      const found = await run(wrapperOf("words", wanted), PRINTS);
      expect(found).toEqual({ code: 0, out: "loaded\nrun words\n", err: "" });
    },
  );

  test.each([`${major + 1}`, `${major}.${minor + 1}`, `${major}.${minor}.99`])(
    "says on an older Node that it needs %s, in one line, before it loads anything [N1461]",
    async (wanted) => {
      const { code, out, err } = await run(wrapperOf("words", wanted), PRINTS);
      expect({ code, out }).toEqual({ code: 1, out: "" });
      expect(err).toBe(
        `signalbox: this topology needs Node ${wanted} or later, and ${process.execPath} is Node ${process.versions.node}\n`,
      );
    },
  );

  test("ends with the error of the module, or of the component, on standard error", async () => {
    const broken = await run(wrapperOf("words"), 'throw new Error("no such file");');
    expect(broken).toMatchObject({ code: 1, out: "" });
    expect(broken.err).toMatch(/^signalbox: Error: no such file\n +at /);
    const failed = await run(
      wrapperOf("words"),
      "setInterval(() => 1, 1e6); export const run = () => Promise.reject('crashed too often');",
    );
    expect(failed).toEqual({ code: 1, out: "", err: "signalbox: crashed too often\n" });
  });

  test("ends when its host is gone, although its module holds a timer and the last output is long [N1479]", async () => {
    const found = await run(
      wrapperOf("words"),
      "setInterval(() => 1, 1e6); export const run = async () => void process.stdout.write('x'.repeat(300000));",
    );
    expect(found).toEqual({ code: 0, out: "x".repeat(300_000), err: "" });
  });

  test("takes any name of an export", async () => {
    const { out } = await run(wrapperOf('"); process.exit(3); ("'), PRINTS);
    expect(out).toBe('loaded\nrun "); process.exit(3); ("\n');
  });

  test("has syntax that an old Node reads", () => {
    const text = wrapperOf("words");
    expect(text).not.toMatch(/=>|\?\?|\?\.|`|\b(const|let|await|class)\b|^import /m);
  });
});

test("a version has numbers", () => {
  for (const text of ["22", "22.4", "22.4.1"]) expect(nodeVersion(text, "node-version")).toBe(text);
  for (const text of ["", "v22", ">=22", "22.", "22.4.1.1", "lts"])
    expect(() => nodeVersion(text, "node-version")).toThrow(Misuse);
});
