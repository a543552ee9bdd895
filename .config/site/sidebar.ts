// The navigation, from the pages that there are and their titles: a new page needs no configuration.

import { pageOf } from "./paths.js";

/** A Markdown file of the repository. */
export interface PageFile {
  readonly path: string;
  readonly markdown: string;
}

export interface Item {
  readonly text: string;
  readonly link: string;
}

export interface Section {
  readonly text: string;
  readonly collapsed?: boolean;
  readonly items: Item[];
}

interface Part {
  readonly text: string;
  /** A folder of docs, by its name; or single pages. */
  readonly pages: string | readonly string[];
  readonly collapsed?: boolean;
}

/** In the order in which they are shown. A page of docs that is in none of them comes last, under "More". */
const PARTS: readonly Part[] = [
  { text: "Course", pages: "course", collapsed: false },
  { text: "Guide", pages: "guide", collapsed: true },
  { text: "Cookbook", pages: "cookbook", collapsed: true },
  { text: "Coming from", pages: "coming-from", collapsed: true },
  { text: "Choose", pages: ["docs/overview.md", "docs/comparison.md", "docs/faq.md", "docs/performance.md", "docs/charts.md"], collapsed: true },
  { text: "Reference", pages: ["docs/semantics.md", "docs/errors.md", "docs/glossary.md"], collapsed: true },
  { text: "Defects elsewhere", pages: ["docs/flow-defects.md", "docs/pipeline-defects.md", "docs/cluster-defects.md"], collapsed: true },
  { text: "Decisions", pages: "decisions", collapsed: true },
  { text: "Project", pages: ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"], collapsed: true },
];

/** Pages at the top of docs that belong to a folder, after its overview. */
const JOINS: Readonly<Record<string, string>> = { "docs/guide.md": "guide", "docs/testing.md": "guide" };

/** The first heading of a page, as plain text. */
export function titleOf(markdown: string): string {
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? "";
  return title.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/[`*]/g, "").trim();
}

const folderOf = (path: string): string | undefined =>
  JOINS[path] ?? /^docs\/([^/]+)\//.exec(path)?.[1];

/** Overviews first, then what joins the folder, then the pages in the order of their numbers or titles. */
function rank({ path, markdown }: PageFile): string {
  if (path.endsWith("/README.md")) return "0";
  if (path in JOINS) return `1${path}`;
  return /\/\d+-/.test(path) ? `2${path}` : `3${titleOf(markdown).toLowerCase()}`;
}

function itemOf({ path, markdown }: PageFile): Item {
  const number = /\/(\d+)-[^/]*$/.exec(path)?.[1];
  const title = titleOf(markdown) || path;
  const overview = path.startsWith("docs/") && path.endsWith("/README.md");
  const text = overview ? "Overview" : number === undefined || /^\d/.test(title) ? title : `${Number(number)}. ${title}`;
  return { text, link: `/${pageOf(path)}` };
}

/**
 * The sections of the sidebar.
 *
 * @param files - all pages that it may show
 * @param after - a section that comes after the reference
 */
export function sidebar(files: readonly PageFile[], after?: Section): Section[] {
  const left = new Set(files);
  const take = (pages: Part["pages"]): PageFile[] => {
    const found =
      typeof pages === "string"
        ? files.filter(({ path }) => folderOf(path) === pages).sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
        : pages.flatMap((path) => files.filter((file) => file.path === path));
    for (const file of found) left.delete(file);
    return found;
  };
  const sections: Section[] = PARTS.map(({ pages, ...part }) => ({ ...part, items: take(pages).map(itemOf) }));
  const more = [...left].filter(({ path }) => path.startsWith("docs/")).map(itemOf);
  const at = PARTS.findIndex(({ text }) => text === "Reference") + 1;
  sections.splice(at, 0, ...(after === undefined ? [] : [after]));
  return [...sections, { text: "More", items: more }].filter(({ items }) => items.length > 0);
}
