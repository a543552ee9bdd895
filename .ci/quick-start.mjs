// The README's quick start, word by word: its commands in their order, in an empty folder, on every version of Node that
// the package supports. Only the package itself comes from the tarball.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { folder, NODES, node, packed, root, run } from "./support.mjs";

/** The code blocks of a section; a file has the name that the text before it gives in backticks. */
function blocksOf(page, heading) {
  const section = page.slice(page.indexOf(`## ${heading}\n`)).split(/\n## /)[0];
  const blocks = [...section.matchAll(/([^\n]*)\n\n```(\w+)\n([\s\S]*?)```/g)];
  return blocks.map(([, before, language, text]) => ({
    language,
    text,
    name: [...before.matchAll(/`([^`]+)`/g)].at(-1)?.[1],
  }));
}

async function quickStart(major) {
  const bin = dirname(await node(major));
  const cwd = folder(`quick-start-${major}`);
  const blocks = blocksOf(readFileSync(join(root, "README.md"), "utf8"), "Quick start");
  const expected = blocks.find(({ language }) => language === "text")?.text;
  const { path } = await packed();
  const programs = [];
  for (const { language, text, name } of blocks) {
    if (language === "sh") {
      for (const line of text.trim().split("\n")) {
        const command = line.replace(/^npm install signalbox$/, `npm install ${path}`);
        const printed = await run("sh", ["-c", command], { cwd, bin });
        if (/^(?:npx tsx|node) /.test(line)) programs.push([line, printed]);
      }
    } else if (language !== "text") writeFileSync(join(cwd, name), text);
  }
  for (const [line, printed] of programs) {
    if (printed !== expected) throw new Error(`${line} printed\n${printed}and not\n${expected}`);
  }
  if (programs.length !== 2) throw new Error(`the quick start runs ${programs.length} programs, not two`);
}

export const checks = Object.fromEntries(
  NODES.map((major) => [`the quick start runs word by word on Node ${major}`, () => quickStart(major)]),
);
