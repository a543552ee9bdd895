// Finds the prose of a page: its sentences, without code, tables and addresses.

import type { Nodes } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";

export interface Sentence {
  readonly text: string;
  /** Line of the file on which its paragraph begins, from 1. */
  readonly line: number;
}

/** What stands for a piece of code within a sentence: one short word, whatever its length. It may begin a sentence. */
const CODE = "Code";

/** The text of a node as it is read. @param code - what stands for inline code; undefined for the code itself */
function textOf(node: Nodes, code?: string): string {
  if (node.type === "inlineCode") return code ?? node.value;
  if (node.type === "text") return node.value;
  if (node.type === "break") return " ";
  return "children" in node ? node.children.map((child) => textOf(child, code)).join("") : "";
}

/** The parser knows no tables: they are paragraphs of lines that begin with a bar. */
const isTable = (node: Nodes): boolean => textOf(node).startsWith("|");

const segments = new Intl.Segmenter("en", { granularity: "sentence" });

/** The end of a sentence before one that begins with a name in small letters: `signalbox`, `p-queue`. */
const BEFORE_NAME = /(?<!\b(?:e\.g|i\.e|cf|vs)\.)(?<=[.!?]) +(?=\p{Ll})/u;

/** The sentences of a text. */
function split(text: string): string[] {
  const found = [...segments.segment(text.replaceAll(/\s+/g, " "))]
    .flatMap(({ segment }) => segment.split(BEFORE_NAME))
    .map((sentence) => sentence.trim());
  return found.filter((sentence) => /\p{L}/u.test(sentence));
}

/** The sentences of the paragraphs, lists and quotations of a page. Headings and tables have none. */
export function sentences(markdown: string): Sentence[] {
  const found: Sentence[] = [];
  const visit = (node: Nodes): void => {
    if (node.type === "paragraph" && !isTable(node)) {
      const line = node.position?.start.line ?? 0;
      for (const text of split(textOf(node, CODE))) found.push({ text, line });
    } else if ("children" in node) for (const child of node.children) visit(child);
  };
  visit(fromMarkdown(markdown));
  return found;
}

export interface Line {
  readonly text: string;
  readonly line: number;
}

/**
 * The lines of a page without code and addresses: of headings and tables, too. Reads lines, since to parse every page would take
 * seconds; so it takes a block of code that is indented within a list for text.
 */
export function lines(markdown: string): Line[] {
  const found: Line[] = [];
  let fence: string | undefined;
  let above = "";
  let inList = false;
  let indented = false;
  for (const [i, line] of markdown.split("\n").entries()) {
    const mark = /^[ >]*(```+|~~~+)/.exec(line)?.[1];
    if (fence !== undefined) {
      if (mark?.startsWith(fence)) fence = undefined;
    } else if (mark !== undefined) fence = mark;
    else {
      if (/^\S/.test(line)) inList = /^([-*+]|\d+\.) /.test(line);
      indented = /^ {4}/.test(line) && !inList && (indented || above === "");
      if (!indented && line !== "") found.push({ text: line, line: i + 1 });
    }
    above = line;
  }
  // Inline code may begin on one line and end on the next.
  const text = found.map((line) => line.text).join("\n");
  const bare = text
    .replaceAll(/(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g, (all) => all.replaceAll(/[^\n]+/g, " "))
    .replaceAll(/\]\([^)\n]*\)|<[^>\n]*>|https?:\S+/g, "] ");
  return bare.split("\n").map((line, i) => ({ text: line, line: found[i]?.line ?? 0 }));
}
