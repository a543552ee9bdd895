// Reads lib as a parser sees it: the modules, and every import between them.

import { readdirSync, readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";

export interface Source {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const root = new URL("../../", import.meta.url);

/** Every module of lib. */
export const lib: readonly Source[] = readdirSync(new URL("lib", root), { recursive: true, encoding: "utf8" })
  .map((name) => `lib/${name.replaceAll("\\", "/")}`)
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({ path, text: readFileSync(new URL(path, root), "utf8") }));

/** A module with one line of code, to see that a rule bites. */
export const example = (text: string, path = "lib/supervisor/example.ts"): Source => ({ path, text });

const parsedBefore = new WeakMap<Source, ReturnType<typeof parseSync>>();

/** Parsed once. @throws Error when the text is not TypeScript: a rule must not pass because it read nothing */
export function parse(source: Source): ReturnType<typeof parseSync> {
  const { path, text } = source;
  const parsed =
    parsedBefore.get(source) ?? parseSync(path, text, { lang: path.endsWith(".tsx") ? "tsx" : "ts" });
  const problem = parsed.errors[0];
  if (problem !== undefined) throw new Error(`${path}: ${problem.message}`);
  parsedBefore.set(source, parsed);
  return parsed;
}

const known = new WeakMap<Source, readonly string[]>();

/** The modules that a module imports or re-exports: values and types, statically and dynamically. Parsed once. */
export function importsOf(source: Source): readonly string[] {
  const imports = known.get(source) ?? importsIn(source);
  known.set(source, imports);
  return imports;
}

function dynamicImportsOf(source: Source): string[] {
  return parse(source).module.dynamicImports.map(({ moduleRequest: { start, end } }) =>
    source.text.slice(start, end).replace(/^["'`]|["'`]$/g, ""),
  );
}

function importsIn(source: Source): string[] {
  const { staticImports, staticExports } = parse(source).module;
  const exported = staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
  );
  return [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...new Set(exported),
    ...dynamicImportsOf(source),
  ];
}

/** The files of the repository that a module imports, as `lib/room/file.js`. */
export function filesImportedBy(source: Source): string[] {
  return filesOf(source, importsOf(source));
}

const filesOf = (source: Source, modules: readonly string[]): string[] =>
  modules
    .filter((module) => module.startsWith("."))
    .map((module) => new URL(module, `file:///${source.path}`).pathname.slice(1));

/** The files that are loaded with a module: it imports or re-exports a value of them, and not only types. */
export function filesLoadedBy(source: Source): string[] {
  const { module } = parse(source);
  const values = [
    ...module.staticImports.filter(
      ({ entries }) => entries.length === 0 || entries.some((entry) => !entry.isType),
    ),
    ...module.staticExports.flatMap(({ entries }) => entries.filter((entry) => !entry.isType)),
  ].flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value]));
  return filesOf(source, [...new Set(values), ...dynamicImportsOf(source)]);
}

/** True for a module that is nothing at run time: types, what it declares of others, and re-exports of types. */
export function isOfTypes(source: Source): boolean {
  return parse(source).program.body.every((statement) => {
    if (statement.type === "ImportDeclaration") return true;
    const declared =
      statement.type === "ExportNamedDeclaration" ? (statement.declaration ?? statement) : statement;
    if ("exportKind" in declared) return declared.exportKind === "type" || isEmpty(declared);
    return (
      /^TS(Interface|TypeAlias)Declaration$/.test(declared.type) ||
      ("declare" in declared && declared.declare === true)
    );
  });
}

/** `export {}` makes a module of a file, and exports nothing. */
const isEmpty = (statement: { readonly type: string }): boolean =>
  statement.type === "ExportNamedDeclaration" &&
  "specifiers" in statement &&
  (statement.specifiers as unknown[]).length === 0;
