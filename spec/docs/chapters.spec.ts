// The pages of the guide, the course, the cookbook and of those who come from elsewhere do what they say: every block is compiled and
// run by itself, and prints what the page says. `npm test` compiles all blocks and runs the first one of each folder;
// `npm run prove` runs them all.
//
// A block fenced as `ts` is a program. One whose first line is `// name.ts` can be imported by the blocks after it. One fenced as
// `ts compile` is compiled alone: it needs a server, say. One fenced as `ts file=examples/a/b.ts` (or `…b.ts#region`) is a copy of a file
// of the repository: `npm run docs:code` makes the copies. A block fenced as `text` directly below a program or a whole file is what it
// prints, with its standard error or without; its last line may be `(exit code 3)`.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Compiled } from "../support/compiled.js";
import { proving } from "../support/proof.js";
import { filesOf, type Program, programs, withFiles } from "./blocks.js";

const root = fileURLToPath(new URL("../..", import.meta.url));

interface Page {
  readonly folder: string;
  readonly name: string;
  readonly programs: readonly Program[];
}

function pageOf(folder: string, name: string, markdown: string): Page {
  const id = `${folder.replace("docs/", "")}_${name.replace(/\.md$/, "")}`.replaceAll(/\W/g, "_");
  return { folder, name: id, programs: programs(markdown) };
}

/** A page that lies, for the tests of these tests. */
const LIAR = pageOf(
  "docs",
  "liar.md",
  '```ts\nconsole.log("a");\n```\n\n```text\nb\n```\n\n```ts\nprocess.exitCode = 3;\n```\n\n```text\n(exit code 3)\n```\n',
);
const FOLDERS = ["docs/guide", "docs/course", "docs/cookbook", "docs/coming-from"];
const paths = FOLDERS.filter((folder) => existsSync(join(root, folder))).flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => ({ folder, name, markdown: readFileSync(join(root, folder, name), "utf8") })),
);
const pages = paths.map(({ folder, name, markdown }) => pageOf(folder, name, markdown));
const copied = paths.filter(({ markdown }) => /^```(ts|yaml) file=/m.test(markdown));

let compiled: Compiled;
/** The folder of the pages' programs, from the root. */
let source: string;
beforeAll(() => {
  compiled = new Compiled("chapters");
  source = `${compiled.folder}/source`;
  for (const { name, programs } of [...pages, LIAR]) {
    for (const { path, code } of filesOf(own(programs))) {
      const file = join(root, source, name, path);
      mkdirSync(dirname(file), { recursive: true });
      // A program is a module of its own, also without an import.
      writeFileSync(file, `${code}\nexport {};\n`);
    }
  }
  compiled.compile(source, "examples/cookbook");
});
afterAll(() => compiled.remove());

interface Case {
  /** From the folder of the pages' programs; of a copied file, from the root. */
  readonly path: string;
  readonly isCopied: boolean;
  readonly prints: string | undefined;
}

/** Programs that stand on the page alone. */
const own = (programs: readonly Program[]) => programs.filter(({ file }) => file === undefined);

function cases({ name, programs }: Page): Case[] {
  const all = own(programs);
  const files = filesOf(all);
  const here = all.flatMap(({ runs, prints }, i) =>
    runs ? [{ path: `${name}/${files[i]?.path}`, isCopied: false, prints }] : [],
  );
  // Copies of files that the page says nothing of print elsewhere, or nothing.
  const there = programs.flatMap(({ file, prints }) =>
    file === undefined || prints === undefined ? [] : [{ path: file, isCopied: true, prints }],
  );
  return [...here, ...there];
}

/** The path from the root, as soon as the run has its folder. */
const programOf = ({ path, isCopied }: Case): string => (isCopied ? path : `${source}/${path}`);

/** All of a folder, or the first. */
const chosen = FOLDERS.flatMap((folder) =>
  pages
    .filter((page) => page.folder === folder)
    .flatMap(cases)
    .slice(0, proving ? undefined : 1),
);

describe("the pages", () => {
  it.concurrent.each(chosen)("$path runs and prints what the page says", async (program) => {
    const { prints } = program;
    const { out, all } = await compiled.printed(programOf(program));
    expect(all === prints ? all : out).toBe(prints ?? "");
  });

  it("notices a program that prints something else, or that fails", async () => {
    const [first, second] = await Promise.all(cases(LIAR).map((one) => compiled.run(programOf(one))));
    expect(LIAR.programs.map(({ prints }) => prints)).toEqual(["b", "(exit code 3)"]);
    expect(first).toBe("a");
    expect(second).toBe("(exit code 3)");
  });

  it.each(copied)(
    "$folder/$name has the code of its files: after a change, `npm run docs:code`",
    async (page) => {
      const { folder, name, markdown } = page;
      const filled = withFiles(markdown, (path) => readFileSync(join(root, path), "utf8"));
      await expect(filled).toMatchFileSnapshot(join(root, folder, name));
    },
  );

  it("take from a file the whole, or a region", () => {
    const file =
      "const a = 1;\n// #region sum\nif (a) {\n  // #region say\n  console.log(a);\n\n  a++;\n  // #endregion say\n}\n// #endregion sum\n";
    const page = (of: string, code = "") => `# A\n\n\`\`\`ts file=${of}\n${code}\n\`\`\`\n\nb\n`;
    const read = () => file;
    expect(withFiles(page("x.ts#say", "old"), read)).toBe(page("x.ts#say", "console.log(a);\n\na++;"));
    expect(withFiles(page("x.ts#sum"), read)).toBe(
      page("x.ts#sum", "if (a) {\n  console.log(a);\n\n  a++;\n}"),
    );
    expect(withFiles(page("x.ts"), read)).toBe(
      page("x.ts", "const a = 1;\nif (a) {\n  console.log(a);\n\n  a++;\n}"),
    );
    expect(() => withFiles(page("x.ts#none"), read)).toThrow('x.ts has no region "none"');
  });
});
