// Finds the code in Markdown and in TSDoc comments.

import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";

export interface Block {
  readonly code: string;
  /** Line of the file on which it begins, from 1. */
  readonly line: number;
}

/** The blocks fenced as `ts`, wherever they stand: in lists and quotations, too. */
export function codeBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  const visit = (node: Nodes): void => {
    if (node.type === "code" && node.lang === "ts")
      blocks.push({ code: node.value, line: (node.position?.start.line ?? 0) + 1 });
    if ("children" in node) for (const child of node.children) visit(child);
  };
  visit(fromMarkdown(markdown));
  return blocks;
}

/** A block of code, and what the page says that it prints. */
export interface Program extends Block {
  /** The block fenced as `text` that follows directly. */
  readonly prints: string | undefined;
  /** The file of the repository that it is a copy of. */
  readonly file: string | undefined;
  /** False: it is compiled alone, for it needs what is not here. */
  readonly runs: boolean;
}

/** The blocks fenced as `ts` at the top level of a page, each with the `text` below it. */
export function programs(markdown: string): Program[] {
  const nodes = fromMarkdown(markdown).children;
  return nodes.flatMap((node, i) => {
    if (node.type !== "code" || node.lang !== "ts") return [];
    const below = nodes[i + 1];
    const prints = below?.type === "code" && below.lang === "text" ? below.value.trim() : undefined;
    const line = (node.position?.start.line ?? 0) + 1;
    const file = /^file=(\S+)$/.exec(node.meta ?? "")?.[1];
    return [{ code: node.value, line, prints, file, runs: node.meta !== "compile" }];
  });
}

/** The page, with each block fenced as `ts file=path`, `ts file=path#region` or `yaml file=path` as its file is now. @param read - gives the text of a file */
export function withFiles(markdown: string, read: (path: string) => string): string {
  return markdown.replaceAll(
    /^```(ts|yaml) file=(\S+)\n[\s\S]*?^```$/gm,
    (_all, language: string, of: string) => `\`\`\`${language} file=${of}\n${regionOf(of, read)}\n\`\`\``,
  );
}

/** A file without the lines that mark regions; or one of its regions, moved to the left edge. */
function regionOf(of: string, read: (path: string) => string): string {
  const [path = "", region] = of.split("#");
  let text = read(path);
  if (region !== undefined) {
    const found = new RegExp(`^ *// #region ${region}\\n([\\s\\S]*?)^ *// #endregion ${region}$`, "m").exec(
      text,
    );
    if (found === null) throw new Error(`${path} has no region "${region}"`);
    text = found[1] as string;
  }
  const lines = text.split("\n").filter((line) => !/^ *\/\/ #(end)?region /.test(line));
  const indents = lines.filter((line) => line !== "").map((line) => line.search(/\S/));
  return lines
    .map((line) => line.slice(Math.min(...indents)))
    .join("\n")
    .trim();
}

/** A file of a page. */
export interface PageFile {
  readonly path: string;
  readonly code: string;
}

/**
 * The blocks of a page as files: one whose first line is `// name.ts` is that file, beside those named before it; when
 * the name comes again, a new folder begins. Any other is a file of its own.
 */
export function filesOf(blocks: readonly Block[]): PageFile[] {
  const files: PageFile[] = [];
  let folder = 0;
  let names = new Set<string>();
  for (const { code, line } of blocks) {
    const name = /^\/\/ ([\w.-]+\.ts)$/m.exec(code.split("\n")[0] ?? "")?.[1];
    if (name !== undefined && names.has(name)) {
      folder++;
      names = new Set();
    }
    if (name !== undefined) names.add(name);
    files.push({ path: name === undefined ? `line_${line}.ts` : `files_${folder}/${name}`, code });
  }
  return files;
}

/** What follows `@example` in the comments of a source file, up to the next tag or the comment's end. */
export function tsdocExamples(source: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; lines: string[] } | undefined;
  for (const [index, line] of source.split("\n").entries()) {
    const text = /^\s*\*\s?(.*)$/.exec(line)?.[1];
    const ends = text === undefined || line.includes("*/") || /^@(?!example)/.test(text);
    if (open !== undefined && (ends || text?.startsWith("@example"))) {
      blocks.push({ code: open.lines.join("\n"), line: open.line });
      open = undefined;
    }
    const begins = /^@example\s*(.*)$/.exec(text ?? "");
    if (begins !== null) open = { line: index + 1, lines: [begins[1] ?? ""] };
    else if (open !== undefined && text !== undefined) open.lines.push(text);
    // A one-line comment: /** … @example … */ has its end on the same line.
  }
  return blocks;
}
