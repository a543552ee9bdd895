// The files of a topology's components that are programs in other languages, such as Python. In Storm their working folder is `resources`
// of the jar, so a file that a program names lies at the same path there.

import type { ShellProgram } from "../../topology/storm/index.js";
import { Misuse } from "../shell/arguments.js";
import type { Folders } from "../shell/folders.js";
import { BUNDLE, COMPONENT } from "./jar.js";

/** The files that go into `resources`, by their path there. */
export type Resources = Map<string, Uint8Array>;

/** Texts that name a file of a program, although they may be something else where no such file exists. */
const PROGRAM_FILE = /\.(py|rb|js|mjs|cjs|ts|sh|pl|php|lua|r|jl|jar|exs?)$/i;
/** What Python leaves beside its modules. */
const COMPILED = /(^|\/)__pycache__\/|\.py[co]$/;
const TO_RESOURCES = "put it into a folder, pass that with --resources, and name it by its path there";

/** The files of folders that the user names. @throws Misuse */
export function resourcesOf(given: readonly string[], folders: Folders): Resources {
  const resources: Resources = new Map();
  for (const folder of given) {
    const files = folders.filesBelow(folder);
    if (files === undefined) throw new Misuse(`--resources ${folder}: there is no such folder`);
    addAll(resources, folder, files, folders);
  }
  return resources;
}

/**
 * Adds the files that the programs of shell components name.
 *
 * @param base - the folders that a relative path may start from, the nearest first
 * @throws Misuse that names the component and the argument
 */
export function addComponentFiles(
  resources: Resources,
  programs: readonly ShellProgram[],
  base: readonly string[],
  folders: Folders,
): void {
  for (const { component, command, args } of programs) {
    if (isFile(command, base, resources, folders) && command.includes("/") && !isAbsolute(command))
      throw new Misuse(
        `${component}: its command ${command} is a file of the project, and Storm unpacks files so that they cannot be run; ` +
          `start it by its language instead, such as command: "bash", args: [${JSON.stringify(command)}]`,
      );
    const streamparse = streamparseClass(command, args);
    if (streamparse !== undefined) addSources(resources, component, streamparse, base, folders);
    else for (const arg of args) addNamed(resources, component, arg, base, folders);
  }
}

function addNamed(
  resources: Resources,
  component: string,
  arg: string,
  base: readonly string[],
  folders: Folders,
): void {
  const isPresent = isFile(arg, base, resources, folders);
  if (arg.startsWith("-") || !(isPresent || PROGRAM_FILE.test(arg))) return;
  const refuse = (problem: string): Misuse =>
    new Misuse(`${component}: its argument ${arg} ${problem}; ${TO_RESOURCES}`);
  if (isAbsolute(arg)) throw refuse("is a path of this machine");
  const path = normal(arg);
  if (path === undefined) throw refuse("is outside of the folder of the topology");
  if (resources.has(path)) return;
  const bytes = base.map((folder) => folders.bytes(folders.resolve(folder, path))).find(Boolean);
  if (bytes === undefined) throw refuse(`is a file that is in none of ${base.join(", ")}`);
  add(resources, path, bytes, `the argument of ${component}`);
}

/** By the conventions of streamparse: the modules are below `src`, which is the folder from which Python loads them. */
function addSources(
  resources: Resources,
  component: string,
  name: string,
  base: readonly string[],
  folders: Folders,
): void {
  const module = `${name.split(".").slice(0, -1).join("/")}.py`;
  if (resources.has(module)) return;
  for (const folder of base) {
    const src = folders.resolve(folder, "src");
    if (folders.bytes(folders.resolve(src, module)) === undefined) continue;
    addAll(resources, src, folders.filesBelow(src) ?? [], folders);
    return;
  }
  throw new Misuse(
    `${component}: its class ${name} is in no file src/${module} below ${base.join(" or ")}; pass the folder of its sources with --resources`,
  );
}

/** The class that `streamparse_run` is to run. Undefined: the program is another one. */
function streamparseClass(command: string, args: readonly string[]): string | undefined {
  const words = [command.split("/").at(-1) ?? "", ...args];
  const at = words.findIndex((word) => word === "streamparse_run" || word === "streamparse.run");
  return at < 0 ? undefined : words.slice(at + 1).find((word) => /^\w+(\.\w+)+$/.test(word));
}

function addAll(resources: Resources, folder: string, files: readonly string[], folders: Folders): void {
  for (const path of files)
    if (!COMPILED.test(path))
      add(resources, path, folders.bytes(folders.resolve(folder, path)) ?? new Uint8Array(), folder);
}

/** @throws Misuse when another file has the path */
function add(resources: Resources, path: string, bytes: Uint8Array, from: string): void {
  const there = resources.get(path);
  const isOurs = path === BUNDLE || path === COMPONENT;
  if (isOurs || (there !== undefined && !isEqual(there, bytes)))
    throw new Misuse(
      `${path} of ${from}: ${isOurs ? "signalbox writes a file" : "another file is"} of this path in resources/`,
    );
  resources.set(path, bytes);
}

const isEqual = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

function isFile(path: string, base: readonly string[], resources: Resources, folders: Folders): boolean {
  return (
    path !== "" &&
    (resources.has(normal(path) ?? path) ||
      base.some((folder) => folders.bytes(folders.resolve(folder, path)) !== undefined))
  );
}

const isAbsolute = (path: string): boolean => /^([/\\]|[A-Za-z]:[/\\])/.test(path);

/** The path without `.` and `..`, with forward slashes. Undefined: it leaves its folder. */
function normal(path: string): string | undefined {
  const parts: string[] = [];
  for (const part of path.split(/[/\\]/)) {
    if (part === "..") {
      if (parts.pop() === undefined) return undefined;
    } else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}
