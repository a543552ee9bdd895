// Finds the code in Markdown and in TSDoc comments.

export interface Block {
  readonly code: string;
  /** Line of the file on which it begins, from 1. */
  readonly line: number;
}

/** The blocks fenced as `ts`. */
export function codeBlocks(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { line: number; lines: string[] } | undefined;
  for (const [index, line] of markdown.split("\n").entries()) {
    if (open !== undefined && line.startsWith("```")) {
      blocks.push({ code: open.lines.join("\n"), line: open.line });
      open = undefined;
    } else if (open !== undefined) open.lines.push(line);
    else if (line === "```ts") open = { line: index + 2, lines: [] };
  }
  return blocks;
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
