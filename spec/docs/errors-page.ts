// Writes docs/errors.md from the error classes of lib: from their TSDoc, their codes, and the places that raise them.

import { type Comment, Visitor } from "oxc-parser";
import { parse, type Source } from "../house/modules.js";

/** One error that lib can raise. */
export interface ErrorEntry {
  readonly code: string;
  readonly name: string;
  /** The first paragraphs of the TSDoc. */
  readonly meaning: string;
  /** The text of `@remedy`; empty when the TSDoc has none. */
  readonly remedy: string;
  readonly path: string;
}

/** The TSDoc that ends right before `start`: its text, without stars. */
function docBefore({ text }: Source, comments: readonly Comment[], start: number): string {
  const doc = comments.find(
    (comment) =>
      comment.type === "Block" &&
      comment.value.startsWith("*") &&
      comment.end <= start &&
      /^\s*(?:export\s+|abstract\s+)*$/.test(text.slice(comment.end, start)),
  );
  return (doc?.value ?? "").replace(/^\*|^\s*\*? ?/gm, "").trim();
}

/** Splits a TSDoc into the text before its tags, and the text of one tag. */
function partsOf(doc: string, tag: string): readonly [text: string, tagged: string] {
  const at = doc.search(/^@\w/m);
  const text = at < 0 ? doc : doc.slice(0, at);
  const tagged = new RegExp(`^@${tag}\\s+([\\s\\S]*?)(?=^@\\w|$(?![\\s\\S]))`, "m").exec(doc)?.[1] ?? "";
  const oneLine = (lines: string): string => lines.trim().replaceAll(/\s*\n\s*/g, " ");
  return [oneLine(text), oneLine(tagged)];
}

/** The error classes of a module that have a code of their own. */
export function errorsIn(source: Source): ErrorEntry[] {
  const parsed = parse(source);
  const entries: ErrorEntry[] = [];
  new Visitor({
    ClassDeclaration({ id, body, start }) {
      for (const member of body.body) {
        if (member.type !== "PropertyDefinition" || member.key.type !== "Identifier") continue;
        const value = member.value?.type === "TSAsExpression" ? member.value.expression : member.value;
        if (member.key.name !== "code" || value?.type !== "Literal" || typeof value.value !== "string")
          continue;
        const [meaning, remedy] = partsOf(docBefore(source, parsed.comments, start), "remedy");
        entries.push({ code: value.value, name: id?.name ?? "", meaning, remedy, path: source.path });
      }
    },
  }).visit(parsed.program);
  return entries;
}

/** The modules that raise an error, by the name of its class. */
export function raisersIn(sources: readonly Source[]): Map<string, string[]> {
  const raisers = new Map<string, string[]>();
  for (const source of sources) {
    const names = new Set<string>();
    new Visitor({
      NewExpression({ callee }) {
        if (callee.type === "Identifier") names.add(callee.name);
      },
    }).visit(parse(source).program);
    for (const name of names) raisers.set(name, [...(raisers.get(name) ?? []), source.path]);
  }
  return raisers;
}

/** Links in TSDoc name a symbol; on the page it is code. */
const prose = (text: string): string => text.replaceAll(/\{@link (\S+?)(?: [^}]*)?\}/g, "`$1`");

/** The page: one section for each code, in alphabetical order. */
export function errorsPage(
  entries: readonly ErrorEntry[],
  raisers: ReadonlyMap<string, readonly string[]>,
): string {
  const byCode = [...entries].sort((one, other) => (one.code < other.code ? -1 : 1));
  const sections = byCode.map(({ code, name, meaning, remedy, path }) => {
    // One a line: branches that add places to an error merge.
    const raised = (raisers.get(name) ?? []).map((file) => `- [${file}](../${file})`);
    return [
      `## ${code}`,
      "",
      `\`${name}\`, in [${path}](../${path})`,
      "",
      `**Meaning.** ${prose(meaning)}`,
      "",
      `**Remedy.** ${prose(remedy)}`,
      "",
      "**Raised in**",
      "",
      ...raised,
      "",
    ].join("\n");
  });
  return [
    "# Errors",
    "",
    "Every error of signalbox is a class with a `code`. The code names one class and never changes; match on the code, or use",
    "`instanceof`. This page is generated from the classes by `npm run docs:errors`.",
    "",
    ...sections,
  ].join("\n");
}
