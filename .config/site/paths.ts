// Where a file of the repository is on the site, and where its links lead there.

import { posix } from "node:path";

/** Pages outside of docs that readers know by a short name. */
const SHORT: Readonly<Record<string, string>> = {
  "README.md": "readme.md",
  "CHANGELOG.md": "changelog.md",
  "CONTRIBUTING.md": "contributing.md",
};

/** The page that shows a Markdown file of the repository: `docs/guide/README.md` is `guide/index.md`. */
export function pageOf(path: string): string {
  const short = SHORT[path];
  if (short !== undefined) return short;
  if (!path.startsWith("docs/")) return `source/${path}`;
  return path.slice("docs/".length).replace(/(^|\/)README\.md$/, "$1index.md");
}

/** A link of a page in the repository: the file it leads to, and the anchor there; undefined for one that leaves the repository. */
export function targetOf(from: string, href: string): { path: string; anchor: string } | undefined {
  if (/^[a-z][a-z\d+.-]*:|^\/\//i.test(href)) return undefined;
  const [path = "", anchor] = href.split("#");
  const joined = path === "" ? from : posix.join(posix.dirname(from), decodeURI(path));
  return { path: joined.replace(/\/$/, ""), anchor: anchor === undefined ? "" : `#${anchor}` };
}

/** The page that shows a file or folder of code. It is no page of VitePress: its links need `target="_self"`. */
export const sourcePageOf = (path: string): string => `source/${path}.html`;

/** The same link on the site, and whether it leads to code; others as they are. */
export function siteLink(from: string, href: string): { href: string; code: boolean } {
  const target = targetOf(from, href);
  if (target === undefined || /^[#/]/.test(href)) return { href, code: false };
  // Replays are pages of their own.
  if (/^docs\/replay\/[^/]+\.html$/.test(target.path))
    return { href: target.path.slice("docs".length), code: true };
  const code = !target.path.endsWith(".md");
  return { href: `/${code ? sourcePageOf(target.path) : pageOf(target.path)}${target.anchor}`, code };
}

/** A picture of docs on the site; others as they are. */
export function pictureLink(from: string, source: string): string {
  const path = targetOf(from, source)?.path;
  return path?.startsWith("docs/") ? path.slice("docs".length) : source;
}
