// The library as the modules that Node loads by itself, one for each file: what the tests run. Modules that the runner of the tests loads
// read each imported name through an object, which costs a quarter of the CPU time of all tests.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { rolldown } from "rolldown";
import type { Plugin } from "vitest/config";

/** Where it is, from the root of the repository. */
const NATIVE = ".build/lib";
/** Runs in a browser, and is a program of its own. */
const CLIENT = "testing/viewer/client/";

function modules(root: string): string[] {
  return readdirSync(join(root, "lib"), { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".ts") && !name.startsWith(CLIENT))
    .sort();
}

/** Other runs in this checkout see the whole of a file, and none is written anew that is as it was. */
function put(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, "utf8") === text) return;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.${process.pid}`, text);
  renameSync(`${path}.${process.pid}`, path);
}

/** Compiles the library anew, unless it is as it was. */
async function compile(root: string, names: readonly string[]): Promise<void> {
  const state = createHash("sha256");
  for (const name of ["../.config/native.ts", ...names])
    state.update(`${name}\n${readFileSync(join(root, "lib", name), "utf8")}`);
  const stamp = join(root, NATIVE, ".stamp");
  const now = state.digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === now) return;
  const bundle = await rolldown({
    input: Object.fromEntries(names.map((name) => [name.replace(/\.ts$/, ""), join(root, "lib", name)])),
    platform: "node",
    external: /^[^./]/,
    treeshake: false,
    tsconfig: join(root, "tsconfig.json"),
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    transform: { target: "es2022" },
  });
  const { output } = await bundle.generate({
    // Where the maps of sources begin.
    dir: join(root, NATIVE),
    preserveModules: true,
    preserveModulesRoot: join(root, "lib"),
    entryFileNames: "[name].js",
    sourcemap: true,
  });
  await bundle.close();
  // A run that is cut off leaves some files of one state and some of another.
  rmSync(stamp, { force: true });
  for (const one of output)
    put(join(root, NATIVE, one.fileName), one.type === "chunk" ? one.code : String(one.source));
  put(stamp, now);
}

/** Tests that import a file of lib get what is compiled of it. The types of their imports are those of the source. */
export async function nativeLibrary(root: string): Promise<Plugin> {
  const names = modules(root);
  await compile(root, names);
  const compiled = new Set(names);
  const lib = join(root, "lib/");
  return {
    name: "native-library",
    enforce: "pre",
    resolveId(specifier, importer) {
      const own = /^signalbox(?:\/(\w+))?$/.exec(specifier);
      const isRelative = /^\.\.?\//.test(specifier) && importer !== undefined;
      if (own === null && !isRelative) return undefined;
      const path =
        own === null ? resolve(dirname(importer as string), specifier) : join(lib, own[1] ?? "", "index.js");
      const name = relative(lib, path).replaceAll("\\", "/");
      return compiled.has(name.replace(/\.js$/, ".ts")) ? join(root, NATIVE, name) : undefined;
    },
  };
}

/** Node loads these by itself. */
export const NATIVE_FILES: RegExp = /\/\.build\/lib\//;
