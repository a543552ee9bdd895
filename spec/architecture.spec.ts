// The rules of the house that no compiler holds. Each is a function from source texts to complaints, run over lib,
// and over a small bad example that shows that it bites.

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

interface Source {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

const root = new URL("../", import.meta.url);
const lib: Source[] = readdirSync(new URL("lib", root), { recursive: true, encoding: "utf8" })
  .map((name) => `lib/${name.replaceAll("\\", "/")}`)
  .filter((path) => path.endsWith(".ts"))
  .map((path) => ({ path, text: readFileSync(new URL(path, root), "utf8") }));

// ── reading code ────────────────────────────────────────────────────────────────────────────────────────────────────

const BLANK = /[^\n]/g;
/** Comments, strings, and regular expressions where an operand is due; templates are dealt with below. */
const LEXEME =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?<=(?:^|[=(,:[!&|?{};>]|\breturn)\s*)\/(?![/*])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*|`|[{}]/gm;

/** The text with everything that is not code blanked out, line by line the same. Code within templates stays. */
function codeOf(text: string, keepStrings = false): string {
  let out = "";
  let at = 0;
  const braces: ("code" | "template")[] = [];
  const template = (): void => {
    for (const start = at; ; at++) {
      if (text[at] === "\\") at++;
      else if (text[at] === "`" || text.startsWith("${", at) || at >= text.length) {
        out += text.slice(start, at).replace(BLANK, " ");
        if (text[at] === "$") {
          braces.push("template");
          at++;
        }
        out += " ";
        at++;
        return;
      }
    }
  };
  for (;;) {
    LEXEME.lastIndex = at;
    const found = LEXEME.exec(text);
    if (found === null) return out + text.slice(at);
    out += text.slice(at, found.index);
    at = found.index + found[0].length;
    const first = found[0][0];
    if (first === "`") {
      out += " ";
      template();
    } else if (first === "{") {
      braces.push("code");
      out += "{";
    } else if (first === "}") {
      if (braces.pop() === "template") {
        out += " ";
        template();
      } else out += "}";
    } else if (keepStrings && (first === '"' || first === "'")) out += found[0];
    else out += found[0].replace(BLANK, " ");
  }
}

/** What a file imports or re-exports from, statically or not. */
function importsOf({ text }: Source): string[] {
  const code = codeOf(text, true);
  return [...code.matchAll(/(?:\bfrom|\bimport|\bimport\()\s*["']([^"']+)["']/g)].map(
    (match) => match[1] as string,
  );
}

function complain({ path, text }: Source, code: string, pattern: RegExp, why: string): string[] {
  return [...code.matchAll(pattern)].map((match) => {
    const line = text.slice(0, match.index).split("\n").length;
    return `${path}:${line} ${match[0].trim()}: ${why}`;
  });
}

// ── the rules ───────────────────────────────────────────────────────────────────────────────────────────────────────

const SEAM = "lib/process/production.ts";
/** The simulator has to hold the host in check, and its clock stands in for it; programs in other languages are the host's. */
const SEAMS = [
  SEAM,
  "lib/testing/kit/event-loop.ts",
  "lib/testing/kit/inspect.ts",
  "lib/testing/simulator/host.ts",
  "lib/topology/multilang/host/child.ts",
  "lib/topology/multilang/guest/stdio.ts",
  "lib/topology/multilang/host/orphan-reaper.ts",
];
/** Which modules of the host may be imported, and where. */
const HOST_MODULES: readonly (readonly [module: string, where: string])[] = [
  ["node:v8", "lib/process/origin.ts"],
  ["node:worker_threads", "lib/dispatch/"],
];
const HOST_NAMES =
  /(?<![.\w$#])(?:Date|performance|set(?:Timeout|Interval|Immediate)|clear(?:Timeout|Interval|Immediate)|queueMicrotask|crypto|nanoid|globalThis|require)\b(?!\s*\??:)|\bMath\s*\.\s*random\b/g;
/** `process` is also what a process is called: the host's is known by its members, or by being declared nowhere. */
const HOST_PROCESS = new RegExp(
  `(?<![.\\w$#])process\\s*\\.\\s*(?:${[
    ...Object.getOwnPropertyNames(process),
    "on",
    "once",
    "off",
    "emit",
    "listenerCount",
  ]
    .filter((name) => /^\w+$/.test(name) && name !== "pid")
    .join("|")})\\b`,
  "g",
);
const DECLARES_PROCESS =
  /\bprocess\s*[?]?[:),]|\b(?:const|let)\s+process\b|\b(?:const|let)\s*\{[^}]*\bprocess\b[^}]*\}/;

/** Rule 1: clock, timers, randomness, ids and the host reach the library through the Environment alone. */
function hostUses(source: Source): string[] {
  if (SEAMS.includes(source.path)) return [];
  const why = `the host reaches the library only through ${SEAM}`;
  const code = codeOf(source.text);
  const modules = importsOf(source).filter(
    (module) =>
      (module.startsWith("node:") || module === "nanoid") &&
      !HOST_MODULES.some(([allowed, where]) => module === allowed && source.path.startsWith(where)),
  );
  return [
    ...modules.map((module) => `${source.path} imports ${module}: ${why}`),
    ...complain(source, code, HOST_NAMES, why),
    ...complain(source, code, HOST_PROCESS, why),
    ...(DECLARES_PROCESS.test(code) ? [] : complain(source, code, /(?<![.\w$#])process\s*\./g, why)),
  ];
}

/** From the ground up; `.` is the files of lib itself. */
const FLOORS = ["process", "behaviour", "supervisor", "dispatch", "topology", ".", "testing"];

/** Rule 2: a floor imports only from floors below it. */
function upwardImports(source: Source): string[] {
  const floorOf = (path: string): number => {
    const [, folder, file] = path.split("/");
    return FLOORS.indexOf(file === undefined ? "." : (folder as string));
  };
  const here = floorOf(source.path);
  if (here < 0) return [`${source.path}: no floor of this name; give it its place in FLOORS`];
  return importsOf(source)
    .filter((module) => module.startsWith("."))
    .map((module) => new URL(module, `file:///${source.path}`).pathname.slice(1))
    .filter((path) => {
      const there = floorOf(path);
      return there > here || there < 0;
    })
    .map((path) => `${source.path} imports ${path}, which is not below it`);
}

/** Rule 3: nothing is `any`. */
function anyTypes(source: Source): string[] {
  const typePosition = /(?<![.\w$#])any\b(?!\s*[(.=:?])/g;
  return complain(source, codeOf(source.text), typePosition, "say what it is, or `unknown`");
}

const MOST_LINES = 400;

/** Rule 4: one idea a file, and it fits in the head. */
function longFiles({ path, text }: Source): string[] {
  const lines = text.trimEnd().split("\n").length;
  return lines > MOST_LINES ? [`${path} has ${lines} lines, ${MOST_LINES} are the most`] : [];
}

/** Rule 5: an error code means one thing. */
function sharedCodes(sources: readonly Source[]): string[] {
  const owners = new Map<string, string[]>();
  for (const { path, text } of sources) {
    for (const [, code] of codeOf(text, true).matchAll(/\bcode(?::\s*string)?\s*=\s*"(ERR_\w+)"/g)) {
      owners.set(code as string, [...(owners.get(code as string) ?? []), path]);
    }
  }
  return [...owners]
    .filter(([, paths]) => paths.length > 1)
    .map(([code, paths]) => `${code}: ${paths.join(", ")}`);
}

// ── held ────────────────────────────────────────────────────────────────────────────────────────────────────────────

const example = (text: string, path = "lib/supervisor/example.ts"): Source => ({ path, text });

test("there is a library to look at", () => {
  expect(lib.length).toBeGreaterThan(20);
  expect(lib.flatMap(importsOf).length).toBeGreaterThan(100);
  for (const { path, text } of lib) {
    const code = codeOf(text);
    expect(code.split("\n").length, path).toBe(text.split("\n").length);
    expect(code, path).not.toMatch(/["'`]/);
    expect(code.split("{").length, path).toBe(code.split("}").length);
  }
});

describe("the host reaches the library only through the production environment", () => {
  test("in all of lib", () => {
    expect(lib.flatMap(hostUses)).toEqual([]);
  });

  test.each([
    "const now = Date.now();",
    "const now = performance.now();",
    "setTimeout(() => undefined, 5);",
    "const timer = setInterval(tick, 5);",
    "setImmediate(tick);",
    "queueMicrotask(tick);",
    "const roll = Math.random();",
    "const roll = Math . random();",
    "process.on('exit', tick);",
    `const text = \`at \${process.uptime()}\`;`,
    "const where = process.pid;",
    "function f(process: Process) { return process.nextTick(tick); }",
    "const id = crypto.randomUUID();",
    'import { nanoid } from "nanoid";',
    'import { readFile } from "node:fs/promises";',
    'import v8 from "node:v8";',
    'import { AsyncLocalStorage } from "node:async_hooks";',
    'export * from "node:events";',
    'const fs = await import("node:fs");',
    "globalThis.setTimeout(tick);",
    "const quote = /[\"'`]/; const now = Date.now();",
  ])("and this is caught: %s", (text) => {
    expect(hostUses(example(text))).not.toEqual([]);
  });

  test.each([
    "// Date.now() is not for us",
    "/* setTimeout, process.exit */ const a = 1;",
    'const text = "Date.now() and process.exit()";',
    `const text = \`setTimeout \${a} performance.now()\`;`,
    "function f(process: Process) { return process.kernel.env.now() + process.pid.id; }",
    "const process = this.#process; process.deliver(message);",
    "for (const { process } of all) f(process.pid); const { process } = this; process.trapping = true;",
    "this.clock.setTimeout(5); const nowDate = 5; update(updateDate);",
    "const half = a / 2; const text = 'Date'; const other = b / 3;",
  ])("and this is none of it: %s", (text) => {
    expect(hostUses(example(text))).toEqual([]);
  });

  test("and host modules stay where they may be", () => {
    expect(hostUses(example('import v8 from "node:v8";', "lib/process/origin.ts"))).toEqual([]);
    expect(hostUses(example('import w from "node:worker_threads";', "lib/dispatch/pool.ts"))).toEqual([]);
    expect(hostUses(example('import w from "node:worker_threads";', "lib/process/pool.ts"))).toHaveLength(1);
  });
});

describe("a floor imports only from floors below it", () => {
  test("in all of lib", () => {
    expect(lib.flatMap(upwardImports)).toEqual([]);
  });

  test.each([
    ["lib/process/a.ts", "../behaviour/b.js"],
    ["lib/process/a.ts", "../system.js"],
    ["lib/behaviour/a.ts", "../supervisor/index.js"],
    ["lib/supervisor/a.ts", "../dispatch/b.js"],
    ["lib/dispatch/a.ts", "../index.js"],
    ["lib/dispatch/a.ts", "../cellar/b.js"],
    ["lib/cellar/a.ts", "./b.js"],
  ])("and this is caught: %s imports %s", (path, module) => {
    expect(upwardImports(example(`import { b } from "${module}";`, path))).toHaveLength(1);
    expect(upwardImports(example(`export type { B } from "${module}";`, path))).toHaveLength(1);
    expect(upwardImports(example(`const b = import("${module}");`, path))).toHaveLength(1);
  });

  test.each([
    ["lib/process/a.ts", "./b.js"],
    ["lib/supervisor/a.ts", "../behaviour/b.js"],
    ["lib/dispatch/a.ts", "../supervisor/b.js"],
    ["lib/index.ts", "./dispatch/index.js"],
    ["lib/system.ts", "eventemitter3"],
  ])("and this is right: %s imports %s", (path, module) => {
    expect(
      upwardImports(example(`import { b } from "${module}";\n// from "../../lib/index.js"`, path)),
    ).toEqual([]);
  });
});

describe("nothing is `any`", () => {
  test("in all of lib", () => {
    expect(lib.flatMap(anyTypes)).toEqual([]);
  });

  test.each([
    "let a: any;",
    "const a = b as any;",
    "const a = <any>b;",
    "type A = any[] | Map<string, any>;",
    "function f(a: any, b: string): any {}",
    "type A = string | any;",
    `const a = \`\${b as any}\`;`,
  ])("and this is caught: %s", (text) => {
    expect(anyTypes(example(text))).not.toEqual([]);
  });

  test.each([
    "// any of them",
    'type A = "any";',
    `const a = receiveAny(\`any \${b} any\`);`,
    "group.any(b);",
  ])("and this is none: %s", (text) => {
    expect(anyTypes(example(text))).toEqual([]);
  });
});

describe("no file is too long", () => {
  test("in all of lib", () => {
    expect(lib.flatMap(longFiles)).toEqual([]);
  });

  test("and a line too many is caught", () => {
    expect(longFiles(example("line\n".repeat(MOST_LINES)))).toEqual([]);
    expect(longFiles(example("line\n".repeat(MOST_LINES + 1)))).toHaveLength(1);
  });
});

describe("an error code means one thing", () => {
  test("in all of lib", () => {
    expect(lib.some(({ text }) => text.includes('code = "ERR_OPTION"'))).toBe(true);
    expect(sharedCodes(lib)).toEqual([]);
  });

  test("and one that is used twice is caught", () => {
    const one = example('class A { readonly code = "ERR_A"; }', "lib/process/a.ts");
    const two = example(
      'class B { readonly code: string = "ERR_A"; readonly other = "ERR_B"; }',
      "lib/dispatch/b.ts",
    );
    expect(sharedCodes([one, two])).toEqual(["ERR_A: lib/process/a.ts, lib/dispatch/b.ts"]);
    expect(sharedCodes([one])).toEqual([]);
  });
});
