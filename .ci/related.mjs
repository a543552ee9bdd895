// Which specs a change touches, the closest first. Almost every module reaches almost every other one, so "whatever imports it, however
// far" is the whole suite; the number of imports between a spec and a changed file is what tells them apart. Imports are followed by
// name: who takes one name of `lib/index.ts` does not import the other thousand.

import { parseSync } from "oxc-parser";

/** What stands beside a change: the spec that mirrors the file, and one of its aspects (`calls-late.spec.ts` of `calls.ts`). */
const MIRROR = 0;
/** The other specs of its room, which test it as a rule without naming it. */
const ROOM = 1.5;

/** The folders of entries that have another name. */
const FOLDERS = { nodes: "node", storm: "topology/storm" };

const folderOf = (path) => path.slice(0, path.lastIndexOf("/"));

/** The file that a module specifier names, as the repository calls it; undefined for a package. */
function fileOf(specifier, from) {
  const own = /^signalbox(?:\/(\w+))?$/.exec(specifier);
  if (own !== null)
    return own[1] === undefined ? "lib/index.ts" : `lib/${FOLDERS[own[1]] ?? own[1]}/index.ts`;
  if (!specifier.startsWith(".")) return undefined;
  return new URL(specifier, `file:///${from}`).pathname.slice(1).replace(/\.js$/, ".ts");
}

function read(path, text) {
  const { staticImports, staticExports, dynamicImports } = parseSync(path, text, { lang: "ts" }).module;
  // Names that the module takes of others, and names of others that it passes on. Of types nothing runs.
  const takes = staticImports.flatMap(({ moduleRequest, entries }) =>
    entries.length === 0
      ? [{ file: fileOf(moduleRequest.value, path), name: undefined }]
      : entries
          .filter(({ isType }) => !isType)
          .map(({ importName }) => ({
            file: fileOf(moduleRequest.value, path),
            name: importName.kind === "Name" ? importName.name : undefined,
          })),
  );
  for (const { moduleRequest: at } of dynamicImports) {
    const specifier = text.slice(at.start, at.end).replace(/^["'`]|["'`]$/g, "");
    takes.push({ file: fileOf(specifier, path), name: undefined });
  }
  const passes = staticExports
    .flatMap(({ entries }) => entries)
    .filter(({ moduleRequest, isType }) => moduleRequest !== null && !isType)
    .map(({ moduleRequest, importName, exportName }) => ({
      file: fileOf(moduleRequest.value, path),
      // Undefined for `export *`, which passes on what it finds.
      as: exportName.kind === "Name" ? exportName.name : undefined,
      name: importName.kind === "Name" ? importName.name : undefined,
    }));
  const owns = staticExports
    .flatMap(({ entries }) => entries)
    .filter(({ moduleRequest, exportName }) => moduleRequest === null && exportName.kind === "Name")
    .map(({ exportName }) => exportName.name);
  return { takes: takes.filter(({ file }) => file !== undefined), passes, owns: new Set(owns) };
}

/** The files in which a name of a module is written, whatever passes it on in between. No name: the module and all that it passes on. */
function homes(modules, file, name, seen = new Set()) {
  const module = modules.get(file);
  if (module === undefined || seen.has(file)) return [];
  seen.add(file);
  if (name === undefined)
    return [file, ...module.passes.flatMap((pass) => homes(modules, pass.file, pass.name, seen))];
  if (module.owns.has(name)) return [file];
  const named = module.passes.find(({ as }) => as === name);
  if (named !== undefined) return homes(modules, named.file, named.name, seen);
  return module.passes
    .filter(({ as }) => as === undefined)
    .flatMap((pass) => homes(modules, pass.file, name, seen));
}

/** For each file, the files that use it. */
function users(modules) {
  const found = new Map([...modules.keys()].map((path) => [path, new Set()]));
  for (const [path, { takes, passes }] of modules) {
    for (const { file, name } of takes)
      for (const home of homes(modules, file, name)) found.get(home)?.add(path);
    // Whoever passes a name on runs nothing of it, and is passed over by `homes`; its own spec is next to it, though.
    for (const { file } of passes) if (!path.endsWith("/index.ts")) found.get(file)?.add(path);
  }
  return found;
}

function mirrors(spec, path) {
  const name = path.replace(/^lib\//, "spec/").replace(/\.ts$/, "");
  return (
    path.startsWith("lib/") && spec.startsWith(name) && /^(-[\w-]+)?\.spec\.ts$/.test(spec.slice(name.length))
  );
}

/**
 * Specs by how close they are to what changed: 0 are changed themselves or mirror a changed file, 1 import one, 1.5 are of its room, n
 * reach one over n imports.
 *
 * @param {ReadonlyMap<string, string>} sources - the text of every module of lib, spec and examples, by path
 * @param {readonly string[]} changed - paths
 * @returns {Map<string, number>} the closest first
 */
export function related(sources, changed) {
  const modules = new Map([...sources].map(([path, text]) => [path, read(path, text)]));
  const used = users(modules);
  const distances = new Map(changed.map((path) => [path, 0]));
  // Breadth first: a Map is walked in the order of its entries, those added meanwhile included.
  for (const [path, distance] of distances)
    for (const user of used.get(path) ?? []) if (!distances.has(user)) distances.set(user, distance + 1);
  const rooms = new Set(changed.map((path) => folderOf(path).replace(/^lib\//, "spec/")));
  const found = [];
  for (const spec of sources.keys()) {
    if (!spec.endsWith(".spec.ts")) continue;
    const near = changed.some((path) => mirrors(spec, path))
      ? MIRROR
      : rooms.has(folderOf(spec))
        ? ROOM
        : Number.POSITIVE_INFINITY;
    const distance = Math.min(near, distances.get(spec) ?? Number.POSITIVE_INFINITY);
    if (distance < Number.POSITIVE_INFINITY) found.push([spec, distance]);
  }
  return new Map(found.sort(([, a], [, b]) => a - b));
}
