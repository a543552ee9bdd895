// Lays out the pages of the site in .build/site-pages: docs as it is, and the Markdown elsewhere that it links to.

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pageOf, targetOf } from "./paths.js";
import type { PageFile } from "./sidebar.js";

/** Pages that are there whether or not another page links to them. */
const ROOTS = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"];
export interface Site {
  /** The Markdown pages of the repository. */
  readonly files: readonly PageFile[];
  /** Pages of the site, and the file of the repository that each one shows. */
  readonly shown: ReadonlyMap<string, string>;
  /** Files and folders of code that pages link to. */
  readonly sources: readonly string[];
}

/** Files that a page names: by its links, and as the origin of its code. */
function named({ path, markdown }: PageFile): string[] {
  const links = [...markdown.matchAll(/\]\(([^)\s]+)\)|^\[[^\]]+\]: (\S+)$/gm)].flatMap(
    ([, inline, reference]) => targetOf(path, inline ?? reference ?? "")?.path ?? [],
  );
  const code = [...markdown.matchAll(/^```\w+ file=([^\s#]+)/gm)].map(([, file]) => file ?? "");
  return [...links, ...code];
}

/** All files of a folder, and of the folders in it. */
export function filesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => `${folder}/${name}`)
    .filter((path) => statSync(join(root, path)).isFile())
    .sort();
}

/** Reads all pages of the repository that belong to the site, and writes them to `out`. */
export function stage(root: string, out: string): Site {
  const waiting = [...filesIn(root, "docs").filter((path) => path.endsWith(".md")), ...ROOTS];
  const files: PageFile[] = [];
  const shown = new Map<string, string>();
  const sources = new Set<string>();
  rmSync(out, { recursive: true, force: true });
  for (const path of filesIn(root, "docs").filter((path) => !path.endsWith(".md"))) copy(root, path, out);
  for (const path of waiting) {
    const page = pageOf(path);
    if (shown.has(page) || sources.has(path) || !existsSync(join(root, path))) continue;
    if (!path.endsWith(".md")) {
      sources.add(path);
      if (statSync(join(root, path)).isDirectory()) waiting.push(...filesIn(root, path));
      continue;
    }
    const file = { path, markdown: readFileSync(join(root, path), "utf8") };
    shown.set(page, path);
    files.push(file);
    write(join(out, page), file.markdown);
    waiting.push(...named(file));
  }
  return { files, shown, sources: [...sources].sort() };
}

/** Pictures have the same path on the site as in docs. */
function copy(root: string, path: string, out: string): void {
  const to = join(out, "public", path.slice("docs/".length));
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(join(root, path), to);
}

/** Writes a file, and the folders that it needs. */
export function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
