// The bundle of a module: one file that runs alone, and the imports that cannot be in it.

import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { expect, test } from "vitest";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { type Bundle, bundleOf } from "../../../lib/cli/storm/bundle.js";
import { packages } from "../../../lib/cli/storm/program.js";
import { execute, folderWith, LINES, ownModule } from "./support.js";

type Contents = Readonly<Record<string, string>>;

async function bundled(
  contents: Contents,
  module = "topology.ts",
): Promise<Bundle & { readonly folder: string }> {
  const at = folderWith(contents);
  const options = { module: at(module), name: module, folder: at(), ownModule };
  return { ...(await bundleOf(options, await packages.bundler())), folder: at() };
}

/** What a program of its own prints that loads the bundle, in a folder where nothing is installed. */
async function printed(text: string, then = ""): Promise<string> {
  const at = folderWith({ "main.mjs": `const { load } = await import("./topology.mjs"); ${then}` });
  writeFileSync(at("topology.mjs"), text);
  const { stdout } = await execute(process.execPath, [at("main.mjs")], { cwd: at() });
  return stdout;
}

test("is one file, the same for the same files in another folder, without a path of this machine [N1460]", async () => {
  const [first, second] = [await bundled(LINES, "src/topology.ts"), await bundled(LINES, "src/topology.ts")];
  expect(first.text).toBe(second.text);
  expect(first.text).not.toContain(basename(first.folder));
  expect(first.text).not.toContain(process.cwd());
  expect(first.text).not.toMatch(/sourceMappingURL|\/\/#region/);
  expect(await printed(first.text, "console.log(Object.keys(await load()))")).toBe("[ 'lines' ]\n");
});

test("runs the module when it is asked for it, and not before", async () => {
  const { text } = await bundled({
    "topology.ts": 'import "./part.js";\nconsole.log("module");\nexport const a: number = await 1;\n',
    "part.ts": 'console.log("part");\n',
  });
  expect(await printed(text, 'console.log("before"); console.log((await load()).a)')).toBe(
    "before\npart\nmodule\n1\n",
  );
});

test("has packages of both kinds, with their files and folders [N1463]", async () => {
  const { text } = await bundled({
    "topology.ts":
      'import old from "old"; import data from "./data.json";\nexport const a = [old(), data.n];\n',
    "data.json": '{"n": 7}',
    "node_modules/old/package.json": '{"name": "old", "main": "main.js"}',
    "node_modules/old/main.js":
      'const { join } = require("node:path"); let more; try { more = require("not-there"); } catch { more = "none"; }\n' +
      "module.exports = () => [join('a', 'b'), more, typeof __dirname, typeof __filename].join();\n",
  });
  expect(await printed(text, "console.log(JSON.stringify((await load()).a))")).toBe(
    '["a/b,none,string,string",7]\n',
  );
});

test("leaves out a package that is not installed and that another imports only where it needs it [N1478]", async () => {
  const { text, leftOut } = await bundled({
    "topology.ts": 'import { a } from "asks";\nexport { a };\n',
    "node_modules/asks/package.json": '{"name": "asks", "type": "module", "main": "main.js"}',
    "node_modules/asks/main.js":
      'export const a = await import("not-there").then(() => "there", (error) => error.code);\n',
  });
  expect(leftOut).toEqual(["not-there"]);
  expect(await printed(text, "console.log((await load()).a)")).toBe("ERR_MODULE_NOT_FOUND\n");
});

test("takes the signalbox of the module's own folder, where there is one", async () => {
  const { text } = await bundled({
    "topology.ts": 'import { mine } from "signalbox/topology";\nexport const a = mine;\n',
    "node_modules/signalbox/package.json": '{"name": "signalbox", "exports": {"./topology": "./t.js"}}',
    "node_modules/signalbox/t.js": 'export const mine = "mine"; export const runComponent = () => mine;\n',
  });
  expect(await printed(text, "console.log((await load()).a)")).toBe("mine\n");
  expect(text.length).toBeLessThan(5_000);
});

test.each<[string, Contents, string[]]>([
  [
    "imports that are not found, from a file and from a package",
    {
      "topology.ts": 'import "./part.js";\nimport "gone";\nawait import("gone-late");\n',
      "part.ts": 'import { a } from "./absent.js";\nimport "broken";\nconsole.log(a);\n',
      "node_modules/broken/package.json": '{"name": "broken", "main": "main.js", "type": "module"}',
      "node_modules/broken/main.js": 'import "missing";\n',
    },
    [
      "cannot bundle topology.ts:",
      "gone, imported by topology.ts, is not found",
      "gone-late, imported by topology.ts, is not found",
      "./absent.js, imported by part.ts, is not found",
      "missing, imported by node_modules/broken/main.js, is not found",
    ],
  ],
  [
    "native addons, named or behind a package that loads them",
    {
      "topology.ts": 'import "native";\nimport "built";\n',
      "node_modules/native/package.json": '{"name": "native", "main": "main.js"}',
      "node_modules/native/main.js": 'module.exports = require("./build/native.node");\n',
      "node_modules/native/build/native.node": "\u0000",
      "node_modules/built/package.json": '{"name": "built", "main": "main.js"}',
      "node_modules/built/main.js": 'module.exports = require("node-gyp-build")(__dirname);\n',
      "node_modules/node-gyp-build/package.json": '{"name": "node-gyp-build", "main": "main.js"}',
      "node_modules/node-gyp-build/main.js": "module.exports = () => undefined;\n",
    },
    [
      "./build/native.node, imported by node_modules/native/main.js, is a native addon, which a bundle cannot hold",
      "node-gyp-build, imported by node_modules/built/main.js, is a native addon, which a bundle cannot hold",
    ],
  ],
  [
    "a text that is no program",
    { "topology.ts": "export const a = ;\n" },
    ["cannot bundle topology.ts: ", "Unexpected token"],
  ],
])("names %s [N1463]", async (_what, contents, texts) => {
  const error = await bundled(contents).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Misuse);
  for (const text of texts) expect((error as Error).message).toContain(text);
});
