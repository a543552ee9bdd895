// What language models read: a map of the site and the whole of it as one text, after the convention of llmstxt.org.

import { posix } from "node:path";
import { pageOf, sourcePageOf, targetOf } from "./paths.js";
import { type PageFile, type Section, titleOf } from "./sidebar.js";

/** Sections whose pages are in the full text; the others are looked up, and only linked. */
const WHOLE = ["Course", "Guide", "Cookbook", "Coming from", "Choose"];
/** Sections that a reader with little room may leave out: the convention has this name for them. */
const OPTIONAL = ["Defects elsewhere", "Decisions", "Project", "More"];

/** The first sentences of a page: its first paragraph below the title, at most so many characters, as plain text. */
export function leadOf(markdown: string): string {
  const paragraphs = markdown.replace(/^```[\s\S]*?^```$/gm, "").split(/\n\s*\n/);
  const first = paragraphs.find((text) => /^[^#|>!\s`-]/.test(text.trim())) ?? "";
  const plain = first.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/\s+/g, " ").trim();
  const sentences = plain.match(/.+?[.:!?](?= |$)/g) ?? [plain];
  let lead = "";
  for (const sentence of sentences) if (lead === "" || lead.length + sentence.length < 200) lead += sentence;
  return lead.trim();
}

/** A page by its link in the navigation. */
type Find = (link: string) => PageFile | undefined;

function finder(files: readonly PageFile[]): Find {
  const byLink = new Map(files.map((file) => [`/${pageOf(file.path)}`, file]));
  return (link) => byLink.get(link);
}

const intro = (readme: string): string => `# ${titleOf(readme)}\n\n> ${leadOf(readme)}\n`;

/** llms.txt: the pages in the order of the navigation, each with its first sentences. Links lead to their Markdown. */
export function llmsTxt(files: readonly PageFile[], sections: readonly Section[]): string {
  const find = finder(files);
  const readme = files.find(({ path }) => path === "README.md")?.markdown ?? "";
  const list = ({ items }: Section): string[] =>
    items.flatMap(({ text, link }) => {
      const page = find(link);
      return page === undefined ? [] : [`- [${text}](${link}): ${leadOf(page.markdown)}`];
    });
  const parts = sections
    .filter((section) => !OPTIONAL.includes(section.text) && list(section).length > 0)
    .map((section) => `## ${section.text}\n\n${list(section).join("\n")}\n`);
  const optional = sections.filter(({ text }) => OPTIONAL.includes(text)).flatMap(list);
  const all = "The text of the course, the guide, the cookbook and the comparisons is in one file: [llms-full.txt](/llms-full.txt).\n";
  const rest = optional.length === 0 ? [] : [`## Optional\n\n${optional.join("\n")}\n`];
  return [intro(readme), all, ...parts, ...rest].join("\n");
}

/** llms-full.txt: the text of all pages that teach, one after the other, and links to the reference. */
export function llmsFullTxt(files: readonly PageFile[], sections: readonly Section[]): string {
  const find = finder(files);
  const readme = files.find(({ path }) => path === "README.md")?.markdown ?? "";
  const whole = sections
    .filter(({ text }) => WHOLE.includes(text))
    .flatMap(({ items }) => items.flatMap(({ link }) => find(link) ?? []))
    .map((page) => absolute(page).trim());
  const reference = sections
    .filter(({ text }) => text === "Reference")
    .flatMap(({ items }) => items.map(({ text, link }) => `- [${text}](${link})`));
  return `${[intro(readme).trim(), `Reference, in files of its own:\n\n${reference.join("\n")}`, ...whole].join("\n\n---\n\n")}\n`;
}

/** The text of a page whose links to other pages hold wherever the text stands. */
export function absolute({ path, markdown }: PageFile): string {
  return markdown.replaceAll(/(?<!`)\]\(([^)\s]+)\)/g, (all, href: string) => {
    const target = targetOf(path, href);
    if (target === undefined || href.startsWith("#")) return all;
    const isPage = posix.extname(target.path) === ".md";
    return `](/${isPage ? pageOf(target.path) : sourcePageOf(target.path)}${target.anchor})`;
  });
}
