// Biome holds the rules that need names and scopes (.config/biome.json): the seam to the world, no `any`, no circle of
// imports at run time, functions of at most 60 lines. Here each rule meets code that it must reject, and code it must not.

import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lib } from "./modules.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const biome = join(root, "node_modules/@biomejs/biome/bin/biome");

interface Finding {
  readonly rule: string;
  readonly path: string;
  readonly line: number;
}

/** Each case is a line of code, in a file of lib by itself. */
const HOST = [
  "const now = Date.now();",
  "const now = performance.now();",
  "setTimeout(() => undefined, 5);",
  "const timer = setInterval(tick, 5);",
  "clearTimeout(timer);",
  "setImmediate(tick);",
  "queueMicrotask(tick);",
  "const roll = Math.random();",
  "const roll = Math . random();",
  "const roll = Math['random']();",
  "process.on('exit', tick);",
  `const text = \`at \${process.uptime()}\`;`,
  "const where = process.pid;",
  "const id = crypto.randomUUID();",
  'import { nanoid } from "nanoid"; nanoid();',
  'import { readFile } from "node:fs/promises"; readFile("a");',
  'import v8 from "node:v8"; v8.getHeapStatistics();',
  'import { node } from "../process/node-modules.js"; node.fs.readFileSync("a");',
  'export * from "node:events";',
  'const fs = await import("node:fs");',
  "globalThis.setTimeout(tick);",
  "const quote = /[\"'`]/; const now = Date.now();",
];
const NO_HOST = [
  "// Date.now() is not for lib",
  "/* setTimeout, process.exit */ const a = 1;",
  'const text = "Date.now() and process.exit()";',
  `const text = \`setTimeout \${a} performance.now()\`;`,
  "function f(process: Process) { return process.kernel.env.now() + process.pid.id; }",
  "class A { f() { const process = this.#process; process.deliver(message); } }",
  "for (const { process } of all) f(process.pid);",
  "this.clock.setTimeout(5); const nowDate = 5; update(nowDate);",
];
const ANY = ["let a: any;", "const a = b as any;", "const a = <any>b;", "type A = any[] | Map<string, any>;"];
const NO_ANY = [
  "// any of them",
  'type A = "any";',
  "group.any(b);",
  "const a: unknown = receiveAny(`any`);",
];
const lines = (count: number): string => `export function f(): void {\n${"  tick();\n".repeat(count)}}\n`;

let work = "";
let findings: readonly Finding[] = [];
const files = new Map<string, string>();

function file(path: string, text: string): string {
  files.set(path, `${text}\n`);
  return path;
}

const cases = (name: string, texts: readonly string[]): (readonly [text: string, path: string])[] =>
  texts.map((text, index) => [text, file(`lib/supervisor/${name}-${index}.ts`, text)] as const);

const rejected = { host: cases("host", HOST), any: cases("any", ANY) };
const accepted = { host: cases("no-host", NO_HOST), any: cases("no-any", NO_ANY) };
const production = file("lib/process/production.ts", "export const now = Date.now() + Math.random();");
const byName = file(
  "lib/process/origin.ts",
  'import { node } from "./node-modules.js"; node.fs.readFileSync("a");',
);
const workers = file(
  "lib/process/thread.ts",
  'import type { Worker } from "node:worker_threads"; export type A = Worker;',
);
const short = file("lib/process/short.ts", lines(60));
const long = file("lib/process/long.ts", lines(61));
const egg = file("lib/process/egg.ts", 'import { hen } from "./hen.js"; export const egg = () => hen;');
const hen = file("lib/process/hen.ts", 'import { egg } from "./egg.js"; export const hen = () => egg;');
const chick = file(
  "lib/process/chick.ts",
  'import type { Nest } from "./nest.js"; export const chick = (nest: Nest) => nest;',
);
const nest = file(
  "lib/process/nest.ts",
  'import { chick } from "./chick.js"; export type Nest = typeof chick;',
);

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "signalbox-house-"));
  cpSync(join(root, ".config"), join(work, "rules"), { recursive: true });
  for (const [path, text] of files) {
    mkdirSync(dirname(join(work, "house", path)), { recursive: true });
    writeFileSync(join(work, "house", path), text);
  }
  const printed = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [biome, "lint", "--config-path=../rules", "--reporter=json", "--max-diagnostics=none", "lib"],
      { cwd: join(work, "house"), encoding: "utf8", maxBuffer: 1 << 26 },
      // Biome ends with 1 when it has found something; an empty answer fails below.
      (_error, stdout) => resolve(stdout),
    );
  });
  const answer = JSON.parse(printed) as {
    diagnostics: { category: string; location: { path: string; start: { line: number } } }[];
  };
  findings = answer.diagnostics.map(({ category, location }) => ({
    rule: category.slice(category.lastIndexOf("/") + 1),
    path: location.path,
    line: location.start.line,
  }));
});

afterAll(() => rmSync(work, { recursive: true, force: true }));

const rulesAgainst = (path: string): string[] =>
  findings.filter((found) => found.path === path).map(({ rule }) => rule);
const SEAM = ["noRestrictedGlobals", "noRestrictedImports", "plugin"];

describe("the host reaches the library only through the production environment", () => {
  test.each(rejected.host)("Biome rejects: %s", (_text, path) => {
    expect(SEAM).toContain(rulesAgainst(path).find((rule) => SEAM.includes(rule)));
  });

  test.each(accepted.host)("Biome accepts: %s", (_text, path) => {
    expect(rulesAgainst(path).filter((rule) => SEAM.includes(rule))).toEqual([]);
  });

  test("the production environment may use the host", () => {
    expect(rulesAgainst(production).filter((rule) => SEAM.includes(rule))).toEqual([]);
  });

  test("host modules stay where the rules allow them", () => {
    expect(rulesAgainst(byName)).not.toContain("noRestrictedImports");
    expect(rulesAgainst(workers)).not.toContain("noRestrictedImports");
  });
});

describe("nothing is `any`", () => {
  test.each(rejected.any)("Biome rejects: %s", (_text, path) => {
    expect(rulesAgainst(path)).toContain("noExplicitAny");
  });

  test.each(accepted.any)("Biome accepts: %s", (_text, path) => {
    expect(rulesAgainst(path)).not.toContain("noExplicitAny");
  });
});

describe("a function has at most 60 lines", () => {
  test("Biome rejects one line more", () => {
    expect(rulesAgainst(short)).not.toContain("noExcessiveLinesPerFunction");
    expect(rulesAgainst(long)).toContain("noExcessiveLinesPerFunction");
  });
});

describe("no circle of imports remains at run time", () => {
  test("Biome rejects two modules that need each other's values", () => {
    expect(rulesAgainst(egg)).toContain("noImportCycles");
    expect(rulesAgainst(hen)).toContain("noImportCycles");
  });

  test("Biome accepts a circle that exists only for types", () => {
    expect(rulesAgainst(chick)).not.toContain("noImportCycles");
    expect(rulesAgainst(nest)).not.toContain("noImportCycles");
  });
});

test("no module of lib switches one of these rules off", () => {
  const rules = [...SEAM, "noExplicitAny", "noExcessiveLinesPerFunction", "noImportCycles"];
  const ignored = lib.flatMap(({ path, text }) =>
    [...text.matchAll(/biome-ignore(?:-\w+)? (\S+)/g)].map(([, rule]) => `${path} ${rule}`),
  );
  expect(
    ignored.filter((line) => rules.some((rule) => line.includes(rule)) || line.endsWith(" lint")),
  ).toEqual([]);
});
