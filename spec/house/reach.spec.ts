// What stands in lib runs: every file is loaded, directly or not, by an entry of the package. A model that no code of the package
// uses belongs into spec, beside the tests that it serves: a guarantee that only such a model keeps is kept by nothing.

import { posix } from "node:path";
import { expect, test } from "vitest";
import { ENTRIES } from "../../.config/entries.mjs";
import { example, filesLoadedBy, isOfTypes, lib, type Source } from "./modules.js";

/** What users load: the entries of the package, its command, and the scripts of two pages, which replay schedules and observe systems. */
const ROOTS = [
  ...ENTRIES.map((name) => `lib/${name}.ts`),
  "lib/cli/main.ts",
  "lib/testing/viewer/client/main.ts",
  "lib/observer/client/main.tsx",
];

/** The files that no root loads, those that hold types alone excepted. */
function unreached(sources: readonly Source[], roots: readonly string[]): string[] {
  const files = new Map(sources.map((source) => [source.path, source]));
  const reached = new Set<string>();
  const visit = (path: string): void => {
    const source = files.get(path) ?? files.get(`${path}x`);
    if (source === undefined || reached.has(source.path)) return;
    reached.add(source.path);
    for (const loaded of filesLoadedBy(source)) visit(loaded.replace(/\.js$/, ".ts"));
  };
  roots.forEach(visit);
  return sources.filter((source) => !reached.has(source.path) && !isOfTypes(source)).map(({ path }) => path);
}

test("every file of lib is reached from an entry, by a value", () => {
  expect(ROOTS.filter((path) => !lib.some((source) => source.path === path))).toEqual([]);
  expect(unreached(lib, ROOTS)).toEqual([]);
});

/**
 * Exported functions, classes and constants, with their files, that no code of the package names beside their declaration. What a
 * module re-exports as a whole has no name there.
 */
function unused(sources: readonly Source[]): string[] {
  const words = new Map<string, number>();
  for (const { text } of sources)
    for (const [word] of withoutComments(text).matchAll(/[$\w]+/g))
      words.set(word, (words.get(word) ?? 0) + 1);
  const whole = new Set(
    sources.flatMap(({ path, text }) =>
      [...text.matchAll(/^export \* (?:as \w+ )?from "(.+)\.js"/gm)].map(([, to = ""]) =>
        posix.join(path, "..", `${to}.ts`),
      ),
    ),
  );
  return sources.flatMap(({ path, text }) =>
    whole.has(path)
      ? []
      : [...text.matchAll(/^export (?:(?:async )?function\*?|(?:abstract )?class|const) ([$\w]+)/gm)]
          .map(([, name = ""]) => name)
          .filter((name) => words.get(name) === 1)
          .map((name) => `${name} of ${path}`),
  );
}

const withoutComments = (text: string): string => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

test("every exported value is used by the package or is public: what only specs use proves nothing", () => {
  expect(unused(lib)).toEqual([]);
});

test("the rule rejects a function, a class and a constant that nothing names", () => {
  const code = [
    "export function a() {}",
    "export class B {}",
    "export const c = 1;",
    "export const d = 2; // d",
  ];
  const other = 'import { d } from "./example.js";';
  expect(unused([example(code.join("\n")), example(other, "lib/other.ts")])).toEqual(
    ["a", "B", "c"].map((name) => `${name} of lib/supervisor/example.ts`),
  );
});

test("the rule rejects a file that is imported for its types, and one that no file imports", () => {
  const machine = example(
    "export interface State { n: number }\nexport const decide = () => 1;",
    "lib/a/machine.ts",
  );
  const rejected = (code: string): string[] =>
    unreached([example(code, "lib/index.ts"), machine], ["lib/index.ts"]);
  expect(rejected("export const a = 1;")).toEqual(["lib/a/machine.ts"]);
  expect(rejected('import type { State } from "./a/machine.js";')).toEqual(["lib/a/machine.ts"]);
  expect(rejected('import { type State } from "./a/machine.js";')).toEqual(["lib/a/machine.ts"]);
  expect(rejected('export type { State } from "./a/machine.js";')).toEqual(["lib/a/machine.ts"]);
  expect(rejected('export type * from "./a/machine.js";')).toEqual(["lib/a/machine.ts"]);
});

test("the rule accepts a file that is loaded: by an import, a re-export, later, through another file; and types alone", () => {
  const machine = example("export const decide = () => 1;", "lib/a/machine.ts");
  const process = example(
    'import { decide } from "./machine.js"; export const run = decide;',
    "lib/a/process.ts",
  );
  const types = example(
    'import type { A } from "./machine.js"; export type B = A; export interface C { b: B }',
    "lib/a/types.ts",
  );
  for (const code of [
    'import { run } from "./a/process.js";',
    'import { type State, run } from "./a/process.js";',
    'import "./a/process.js";',
    'export { run } from "./a/process.js";',
    'export * from "./a/process.js";',
    'const process = await import("./a/process.js");',
  ])
    expect(unreached([example(code, "lib/index.ts"), process, machine, types], ["lib/index.ts"])).toEqual([]);
});
