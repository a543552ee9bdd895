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
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, text: readFileSync(new URL(path, root), "utf8") }));

/** A module with one line of code, to see that a rule bites. */
export const example = (text: string, path = "lib/supervisor/example.ts"): Source => ({ path, text });

/** @throws Error when the text is not TypeScript: a rule must not pass because it read nothing */
export function parse({ path, text }: Source): ReturnType<typeof parseSync> {
  const parsed = parseSync(path, text, { lang: "ts" });
  const problem = parsed.errors[0];
  if (problem !== undefined) throw new Error(`${path}: ${problem.message}`);
  return parsed;
}

const known = new WeakMap<Source, readonly string[]>();

/** The modules that a module imports or re-exports: values and types, statically and dynamically. Parsed once. */
export function importsOf(source: Source): readonly string[] {
  const imports = known.get(source) ?? importsIn(source);
  known.set(source, imports);
  return imports;
}

function importsIn(source: Source): string[] {
  const { staticImports, staticExports, dynamicImports } = parse(source).module;
  const quoted = ({ start, end }: { start: number; end: number }): string =>
    source.text.slice(start, end).replace(/^["'`]|["'`]$/g, "");
  const exported = staticExports.flatMap(({ entries }) =>
    entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value])),
  );
  return [
    ...staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...new Set(exported),
    ...dynamicImports.map(({ moduleRequest }) => quoted(moduleRequest)),
  ];
}

/** The files of the repository that a module imports, as `lib/room/file.js`. */
export function filesImportedBy(source: Source): string[] {
  return importsOf(source)
    .filter((module) => module.startsWith("."))
    .map((module) => new URL(module, `file:///${source.path}`).pathname.slice(1));
}
