// Finds links of the built site that lead nowhere: to a file that is not there, or to an anchor that its page does not have.

import { posix } from "node:path";

const decode = (text: string): string =>
  text.replaceAll("&quot;", '"').replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

/**
 * Links that lead nowhere, as `page: link`, and how many were looked at.
 *
 * @param pages - text of each HTML file, by its path in the site
 * @param files - paths of all files of the site
 */
export function deadLinks(
  pages: ReadonlyMap<string, string>,
  files: ReadonlySet<string>,
): { dead: string[]; count: number } {
  const anchors = new Map<string, Set<string>>();
  for (const [path, html] of pages)
    anchors.set(path, new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => decode(id ?? ""))));
  const dead = new Set<string>();
  let count = 0;
  for (const [page, html] of pages) {
    for (const [, raw = ""] of html.matchAll(/\s(?:href|src)="([^"]*)"/g)) {
      const link = decode(raw);
      if (/^[a-z][a-z\d+.-]*:|^\/\//i.test(link)) continue;
      count++;
      const [path = "", anchor] = link.split("#");
      const folder = path.startsWith("/") ? "/" : posix.join("/", posix.dirname(page));
      const absolute = path === "" ? page : posix.join(folder, path).slice(1);
      const target = absolute === "" || absolute.endsWith("/") ? `${absolute}index.html` : decodeURI(absolute);
      const known = anchor === undefined || anchor === "" || anchors.get(target)?.has(decodeURIComponent(anchor));
      if (!files.has(target) || !known) dead.add(`${page}: ${link}`);
    }
  }
  return { dead: [...dead], count };
}
