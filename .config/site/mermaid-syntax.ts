// The part of Mermaid's syntax that diagrams may use. The library that draws them skips a line that it does not know, so that a
// diagram would lack a part without notice.

const ID = String.raw`[\p{L}\d_]+(?:-[\p{L}\d_]+)*`;
/** A label between two delimiters. It may be quoted, and cannot hold the closing delimiter. */
const label = (open: string, close: string): string => {
  const escaped = (text: string): string => text.replaceAll(/./g, "\\$&");
  const ends = escaped(close.slice(0, 1));
  return `${escaped(open)}(?:"[^"<>${ends}]+"|[^"<>${escaped(open.slice(-1))}${ends}]+)${escaped(close)}`;
};
const SHAPES = [["(((", ")))"], ["((", "))"], ["([", "])"], ["[[", "]]"], ["[(", ")]"], ["{{", "}}"], ["[", "]"], ["(", ")"], ["{", "}"]];
const NODE = `${ID}(?:${SHAPES.map(([open = "", close = ""]) => label(open, close)).join("|")})?`;
const GROUP = `${NODE}(?: & ${NODE})*`;
/** An arrow with its label. */
export const ARROW: string = String.raw`<?(?:-->|-\.->|==>|---|-\.-|===)(?:\|[^|<>]+\|)?|(?:--|-\.|==) [^-<>=|]+ (?:-->|---|\.->|==>|===)`;
const DIRECTION = "direction (?:TD|TB|LR|BT|RL)";
const ACTORS = `${ID}(?:, ?${ID})*`;

const line = (...patterns: string[]): RegExp => new RegExp(`^(?:${patterns.join("|")})$`, "u");

/** Which lines may stand in a kind of diagram, by its first line. */
const KINDS: readonly { readonly header: RegExp; readonly lines: RegExp; readonly opens: RegExp; readonly closes: RegExp }[] = [
  {
    header: /^flowchart (?:TD|TB|LR|BT|RL)$/,
    lines: line(`${GROUP}(?: (?:${ARROW}) ${GROUP})*`, `subgraph (?:${ID} ?\\[[^\\]<>]+\\]|[^\\[\\]<>]+)`, "end", DIRECTION),
    opens: /^subgraph /,
    closes: /^end$/,
  },
  {
    header: /^sequenceDiagram$/,
    lines: line(
      `(?:participant|actor) ${ID}(?: as [^<>]+)?`,
      `[Nn]ote (?:left of|right of|over) ${ACTORS}: ?[^<>]+`,
      "(?:loop|alt|opt|par|critical|break|else|and)(?: [^<>]+)?",
      "end",
      `${ID} ?--?(?:>>?|[)x]) ?[+-]?${ID}: ?[^<>]+`,
    ),
    opens: /^(?:loop|alt|opt|par|critical|break)\b(?! ?-)/,
    closes: /^end$/,
  },
  {
    header: /^stateDiagram-v2$/,
    lines: line(
      String.raw`(?:\[\*\]|${ID}) --> (?:\[\*\]|${ID})(?: ?: ?[^<>]+)?`,
      `${ID} ?: ?[^<>]+`,
      `state "[^"<>]+" as ${ID}`,
      String.raw`state (?:"[^"<>]+" as )?${ID} \{`,
      "\\}",
      DIRECTION,
    ),
    opens: /\{$/,
    closes: /^\}$/,
  },
];

/** The first line that cannot be drawn: its number, from 0, and why. */
export function unknownSyntax(text: string): { line: number; why: string } | undefined {
  const lines = text.split("\n").map((one) => one.trim());
  const first = lines.findIndex((one) => one !== "");
  const kind = KINDS.find(({ header }) => header.test(lines[first] ?? ""));
  if (kind === undefined)
    return { line: Math.max(first, 0), why: "it has to begin with flowchart and a direction, sequenceDiagram or stateDiagram-v2" };
  let depth = 0;
  for (let at = first + 1; at < lines.length; at++) {
    const one = lines[at] ?? "";
    if (one === "" || one.startsWith("%%")) continue;
    if (!kind.lines.test(one)) return { line: at, why: `the site cannot draw this line: ${one}` };
    if (kind.opens.test(one)) depth++;
    if (kind.closes.test(one) && --depth < 0) return { line: at, why: "this ends a block that has not begun" };
  }
  return depth === 0 ? undefined : { line: lines.length - 1, why: "a block has no end" };
}
