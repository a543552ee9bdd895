// The API reference: for each entry of the package its functions, classes, types and errors, from their declarations and TSDoc.

import { Declarations, type Export } from "./declarations.js";
import type { Section } from "./sidebar.js";
import { sourcePageOf } from "./paths.js";
import { slug } from "./slug.js";

/** Most names below "See also". */
const MOST = 12;

type Group = "Functions" | "Classes" | "Types" | "Errors";
const GROUPS: readonly Group[] = ["Functions", "Classes", "Types", "Errors"];

interface Entry {
  /** `signalbox/flow`. */
  readonly name: string;
  readonly groups: ReadonlyMap<Group, readonly Export[]>;
}

export interface Api {
  /** Text of each page, by its path on the site. */
  readonly pages: ReadonlyMap<string, string>;
  readonly section: Section;
  /** Files of lib that the pages link to. */
  readonly sources: readonly string[];
}

const errorCode = ({ code }: Export): string | undefined => /readonly code = "(ERR_\w+)"/.exec(code)?.[1];

function groupOf(one: Export): Group {
  if (one.kind === "class") return errorCode(one) === undefined ? "Classes" : "Errors";
  return one.kind === "type" ? "Types" : "Functions";
}

/** The entry of a module of lib. @param module - such as `flow/index` */
const nameOf = (module: string): string =>
  module === "index" ? "signalbox" : `signalbox/${module.replace(/\/index$/, "").replace(/^node$/, "nodes").replace(/^topology\/storm$/, "storm")}`;

const pageOf = (entry: string, group: Group): string =>
  `api/${entry.replace("signalbox/", "").replaceAll("/", "-")}/${group.toLowerCase()}.md`;

/** Text of TSDoc, with its links. */
function prose(text: string, linkOf: (name: string) => string | undefined): string {
  return text.replaceAll(/\{@link (\S+?)(?:[ |]([^}]*))?\}/g, (_all, name: string, label?: string) => {
    const link = linkOf(name) ?? linkOf(name.split(".")[0] ?? "");
    const shown = label?.trim() || `\`${name}\``;
    return link === undefined ? shown : `[${shown}](${link})`;
  });
}

/** The parts of a TSDoc: what comes before its tags, and each tag with its text. */
function parts(doc: string): { text: string; tags: (readonly [tag: string, text: string])[] } {
  const [text = "", ...rest] = doc.split(/^(?=@\w)/m);
  return {
    text: text.trim(),
    tags: rest.map((one) => {
      const [, tag = "", of = ""] = /^@(\w+)\s*([\s\S]*)$/.exec(one) ?? [];
      return [tag, of.trim()] as const;
    }),
  };
}

const fenced = (code: string): string => `\`\`\`ts\n${code}\n\`\`\``;

/** Declarations that a class or an interface inherits, and that have no place of their own because no entry exports them. */
function inherited(one: Export, declarations: Declarations, linkOf: (name: string) => string | undefined): string[] {
  return declarations
    .bases(one)
    .filter(({ name }) => linkOf(name) === undefined)
    .flatMap((base) => [
      `It has all of \`${base.name}\`:`,
      fenced(base.code),
      ...inherited(base, declarations, linkOf),
    ]);
}

function section(one: Export, declarations: Declarations, linkOf: (name: string) => string | undefined): string {
  const { text, tags } = parts(one.doc);
  const of = (tag: string): string[] => tags.filter(([name]) => name === tag).map(([, words]) => words);
  const params = of("param").map((words) => {
    const [, name = "", rest = ""] = /^(\S+)\s*(?:-\s*)?([\s\S]*)$/.exec(words) ?? [];
    return `- \`${name}\`: ${prose(rest.replaceAll(/\s*\n\s*/g, " "), linkOf)}`;
  });
  const labelled = ["returns", "throws", "remedy", "see"].flatMap((tag) =>
    of(tag).map((words) => `**${tag[0]?.toUpperCase()}${tag.slice(1)}.** ${prose(words, linkOf)}`),
  );
  const code = errorCode(one);
  const words = new Set(one.code.replaceAll(/\/\*\*[\s\S]*?\*\//g, "").match(/\b[A-Z]\w+\b/g));
  const also = [...words].filter((word) => word !== one.name && linkOf(word) !== undefined).slice(0, MOST);
  return [
    `## ${one.name}`,
    prose(text, linkOf),
    fenced(one.code),
    ...inherited(one, declarations, linkOf),
    params.join("\n"),
    ...labelled,
    ...of("example").map((example) => (example.startsWith("```") ? example : fenced(example))),
    code === undefined ? "" : `Its code: [${code}](/errors.md#${slug(code)}).`,
    also.length === 0 ? "" : `See also ${also.map((word) => `[\`${word}\`](${linkOf(word)})`).join(", ")}.`,
    `Declared in [${one.path}](/${sourcePageOf(one.path)}).`,
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

function entryOf(name: string, exports: ReadonlyMap<string, Export>): Entry {
  const groups = new Map<Group, Export[]>();
  const byName = [...exports.values()].sort((a, b) => a.name.localeCompare(b.name, "en"));
  for (const group of GROUPS) {
    const members = byName.filter((one) => groupOf(one) === group);
    if (members.length > 0) groups.set(group, members);
  }
  return { name, groups };
}

/** Links to the exports of an entry: names that differ in case alone have anchors with numbers. */
function linksOf({ name, groups }: Entry): Map<string, string> {
  const links = new Map<string, string>();
  for (const [group, members] of groups) {
    const seen = new Map<string, number>();
    for (const one of members) {
      const anchor = slug(one.name);
      const times = seen.get(anchor) ?? 0;
      seen.set(anchor, times + 1);
      links.set(one.name, `/${pageOf(name, group)}#${anchor}${times === 0 ? "" : `-${times}`}`);
    }
  }
  return links;
}

/** @param entries - modules of the entries in lib, such as `flow/index` */
export function api(root: string, entries: readonly string[]): Api {
  const declarations = new Declarations(root);
  const all = entries.map((entry) =>
    entryOf(nameOf(entry), declarations.exports(`lib/${entry}.ts`)),
  );
  const pages = new Map<string, string>();
  const sources = new Set<string>();
  const links = new Map(all.map((entry) => [entry, linksOf(entry)]));
  const overview = ["# API", "Everything that the package exports, by entry. The declarations are those of the sources."];
  for (const entry of all) {
    const linkOf = (name: string): string | undefined =>
      links.get(entry)?.get(name) ?? all.map((other) => links.get(other)?.get(name)).find((link) => link !== undefined);
    overview.push(`## ${entry.name}`);
    for (const [group, members] of entry.groups) {
      const sections = members.map((one) => section(one, declarations, linkOf));
      for (const { path } of members) sources.add(path);
      const from = `What \`${entry.name}\` exports.`;
      pages.set(pageOf(entry.name, group), `---\noutline: 2\n---\n\n# ${entry.name}: ${group.toLowerCase()}\n\n${from}\n\n${sections.join("\n\n")}\n`);
      const names = members.map(({ name }) => `[\`${name}\`](${links.get(entry)?.get(name)})`);
      overview.push(`**[${group}](/${pageOf(entry.name, group)}):** ${names.join(", ")}.`);
    }
  }
  pages.set("api/index.md", `---\noutline: 2\n---\n\n${overview.join("\n\n")}\n`);
  const items = all.flatMap(({ name, groups }) =>
    [...groups.keys()].map((group) => ({ text: `${name}: ${group.toLowerCase()}`, link: `/${pageOf(name, group)}` })),
  );
  return {
    pages,
    sources: [...sources],
    section: { text: "API", collapsed: true, items: [{ text: "Overview", link: "/api/index.md" }, ...items] },
  };
}
