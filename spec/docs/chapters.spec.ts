// The chapters of the guide do what they say: every block is compiled and run by itself, and prints what the page says.
// `npm test` compiles all blocks and runs the first one of each chapter; `npm run prove` runs them all.
//
// A block fenced as `ts` is a program. One whose first line is `// name.ts` can be imported by the blocks after it. A block
// fenced as `text` directly below a program is what the program prints; its last line may be `(exit code 3)`.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Compiled } from "../support/compiled.js";
import { proving } from "../support/proof.js";
import { filesOf, type Program, programs } from "./blocks.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const SOURCE = ".build/chapters/source";

interface Page {
  readonly name: string;
  readonly programs: readonly Program[];
}

function pageOf(name: string, markdown: string): Page {
  return { name: name.replace(/\.md$/, "").replaceAll(/\W/g, "_"), programs: programs(markdown) };
}

/** A page that lies, for the tests of these tests. */
const LIAR = pageOf(
  "liar.md",
  '```ts\nconsole.log("a");\n```\n\n```text\nb\n```\n\n```ts\nprocess.exitCode = 3;\n```\n\n```text\n(exit code 3)\n```\n',
);
const folder = join(root, "docs/guide");
const chapters = readdirSync(folder)
  .filter((name) => name.endsWith(".md"))
  .map((name) => pageOf(name, readFileSync(join(folder, name), "utf8")));

let compiled: Compiled;
beforeAll(() => {
  compiled = new Compiled("chapters");
  for (const { name, programs } of [...chapters, LIAR]) {
    for (const { path, code } of filesOf(programs)) {
      const file = join(root, SOURCE, name, path);
      mkdirSync(dirname(file), { recursive: true });
      // A program is a module of its own, also without an import.
      writeFileSync(file, `${code}\nexport {};\n`);
    }
  }
  compiled.compile(SOURCE);
});
afterAll(() => compiled.remove());

const cases = ({ name, programs }: Page) =>
  filesOf(programs).map(({ path }, i) => ({ path: `${name}/${path}`, prints: programs[i]?.prints }));
const run = (path: string): Promise<string> => compiled.run(`${SOURCE}/${path}`);

describe("the chapters of the guide", () => {
  it.concurrent.each(chapters.flatMap((page) => cases(page).slice(0, proving ? undefined : 1)))(
    "$path runs and prints what the page says",
    async ({ path, prints }) => {
      expect(await run(path)).toBe(prints ?? "");
    },
  );

  it("notices a program that prints something else, or that fails", async () => {
    const [first, second] = await Promise.all(cases(LIAR).map(({ path }) => run(path)));
    expect(LIAR.programs.map(({ prints }) => prints)).toEqual(["b", "(exit code 3)"]);
    expect(first).toBe("a");
    expect(second).toBe("(exit code 3)");
  });
});
