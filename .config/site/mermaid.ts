// Draws Mermaid diagrams while the site is built, as SVG in the colours of the page, with a description for those who do not see it.

import { renderMermaidSVG } from "beautiful-mermaid";
import { ARROW, unknownSyntax } from "./mermaid-syntax.js";

/** How narrow a drawing may become before the reader scrolls, as a part of its width. */
const LEAST = 0.7;
/** Pixels of the narrowest screen that has room for a drawing without scrolling. */
const PHONE = 340;
/** Letters of a question for which a diamond has the size of the other shapes. */
const DIAMOND = 12;

const NODE = /(?<![\w-])([\w-]+?)(\(\(\(.+?\)\)\)|\(\[.+?\]\)|\(\(.+?\)\)|\[\[.+?\]\]|\[\(.+?\)\]|\{\{.+?\}\}|\[.+?\]|\(.+?\)|\{.+?\})/g;

/** A diagram as the library draws it well: it ignores a label that comes after the first mention of its node. */
export function prepared(text: string): string {
  if (/^\s*flowchart/.test(text)) return preparedFlowchart(text);
  return /^\s*stateDiagram/.test(text) ? preparedStates(text) : text;
}

/** Names of states come first, unless they are inside of another state. */
function preparedStates(text: string): string {
  const [header = "", ...lines] = text.split("\n");
  let depth = 0;
  const names: string[] = [];
  const rest = lines.filter((line) => {
    if (/\{\s*$/.test(line)) depth++;
    if (/^\s*\}/.test(line)) depth--;
    const isName = depth === 0 && /^\s*(?:state ".*" as \S+|[\w-]+ ?:.*)$/.test(line);
    if (isName) names.push(line);
    return !isName;
  });
  return [header, ...names, ...rest].join("\n");
}

/** Labels stand at the first mention. Diamonds grow with the square of their text, so that longer questions become hexagons. */
function preparedFlowchart(text: string): string {
  const hexagons = text.replaceAll(/(?<=\w)\{([^{}]+)\}/g, (all, label: string) =>
    label.length > DIAMOND ? `{{${label}}}` : all,
  );
  const lines = hexagons.split("\n");
  const shapes = new Map<string, string>();
  for (const line of lines)
    if (!/^\s*subgraph/.test(line))
      for (const [, id = "", shape = ""] of line.matchAll(NODE)) if (!shapes.has(id)) shapes.set(id, shape);
  const seen = new Set<string>();
  // Labels and arrows are left alone: an id is a word outside of them.
  const word = new RegExp(`(?:${ARROW})|${NODE.source}|(?<![\\w-])[\\w-]*\\w(?![\\w-])`, "g");
  return lines
    .map((line, at) => {
      if (at === 0 || /^\s*(?:subgraph|end$|direction)/.test(line)) return line;
      return line.replaceAll(word, (all, id: string | undefined) => {
        if (id !== undefined) seen.add(id);
        const shape = id === undefined && !seen.has(all) ? shapes.get(all) : undefined;
        if (shape !== undefined) seen.add(all);
        return `${all}${shape ?? ""}`;
      });
    })
    .join("\n");
}

/** What the drawing shows, in words: its arrows, one after another. */
export function description(svg: string): string {
  const attribute = (tag: string, name: string): string => new RegExp(`\\sdata-${name}="([^"]*)"`).exec(tag)?.[1] ?? "";
  const names = new Map<string, string>();
  for (const [tag] of svg.matchAll(/<g class="(?:node|actor)"[^>]*>/g)) {
    const shape = attribute(tag, "shape");
    const label = attribute(tag, "label").replaceAll(/\s+/g, " ");
    names.set(attribute(tag, "id"), shape === "state-start" ? "start" : shape === "state-end" ? "end" : label);
  }
  const arrows = [...svg.matchAll(/<(?:polyline class="edge"|g class="message")[^>]*>/g)].map(([tag]) => {
    const name = (end: string): string => names.get(attribute(tag, end)) ?? attribute(tag, end);
    const label = attribute(tag, "label").replaceAll(/\s+/g, " ");
    return `${name("from")} to ${name("to")}${label === "" ? "" : ` (${label})`}`;
  });
  return `Diagram: ${arrows.length > 0 ? arrows.join("; ") : [...names.values()].join(", ")}`;
}

let drawn = 0;

/** @param path - the page, and @param line - where the diagram begins on it, for the error of one that cannot be drawn */
export function draw(text: string, path: string, line: number): string {
  const unknown = unknownSyntax(text);
  if (unknown !== undefined) throw new Error(`${path}:${line + 1 + unknown.line}: ${unknown.why}`);
  let svg: string;
  try {
    svg = renderMermaidSVG(prepared(text.trim()), {
      bg: "var(--vp-c-bg)",
      fg: "var(--vp-c-text-1)",
      muted: "var(--vp-c-text-2)",
      transparent: true,
      padding: 8,
    });
  } catch (error) {
    throw new Error(`${path}:${line}: this diagram cannot be drawn: ${error instanceof Error ? error.message : error}`);
  }
  const id = `d${++drawn}-`;
  const label = description(svg);
  const least = Math.round(Number(/\swidth="([\d.]+)"/.exec(svg)?.[1]) * LEAST);
  const drawing = svg
    .replace(/<style>[\s\S]*?<\/style>/, "")
    .replaceAll(/\sdata-[\w-]+="[^"]*"/g, "")
    .replaceAll(/(\d\.\d\d)\d+/g, "$1")
    .replaceAll('id="', `id="${id}`)
    .replaceAll("url(#", `url(#${id}`)
    .replace("<svg ", `<svg v-pre role="img" aria-label="${label}" `)
    .replace(' style="', ` style="min-width:${least}px;`);
  return `<figure class="diagram"${least > PHONE ? ' tabindex="0"' : ""}>${drawing}</figure>\n`;
}
